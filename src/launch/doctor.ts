import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Config, Mistakes } from '../config/config.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { type EngineFacts, lookAtEngines } from './doctor-engines.ts'
import { type Finding, problem } from './doctor-finding.ts'
import { fixFolder, fixStore } from './doctor-fix.ts'
import { hasStore, lookAtFolder } from './doctor-folder.ts'
import { lookAtInstances } from './doctor-instances.ts'
import { lookAtMachine } from './doctor-machine.ts'
import { lookAtStore } from './doctor-store.ts'
import { openState } from './state.ts'

/** All that doctor found. */
export interface Diagnosis {
  readonly engines: readonly EngineFacts[]
  readonly instances: readonly Finding[]
  readonly bus: readonly Finding[]
  /** What was mended, each a sentence. */
  readonly mended: readonly string[]
}

/**
 * Looks at engines, instances and bus; with `fix`, mends first what is safe to mend. Without a budgets.json that can be read
 * it tells why, and of the engines. Asks CLIs nothing that costs; starts no turn.
 */
export const diagnose =
  (config: E.Either<Mistakes, Config>, where: Surroundings, fix: boolean): T.Task<Diagnosis> =>
  async () => {
    const sound = E.isRight(config) ? config.right : undefined
    const mended = fix && sound !== undefined ? await mend(sound, where) : []
    const [engines, machine] = await Promise.all([lookAtEngines(sound, where)(), lookAtMachine(where)()])
    if (E.isLeft(config)) return { engines, instances: config.left.map(asProblem), bus: machine, mended }
    return {
      engines,
      instances: await lookAtInstances(config.right, engines, where)(),
      bus: [...machine, ...(await lookAtBus(config.right, where))],
      mended,
    }
  }

const asProblem = ({ code, sentence }: Mistakes[number]): Finding =>
  problem('budgets.json', code, sentence, sentence.includes('`errand init`') ? 'errand init' : undefined)

const lookAtBus = async (config: Config, where: Surroundings): Promise<readonly Finding[]> => {
  const folder = lookAtFolder(config.stateFolder, config.secret && !where.environment['ERRAND_SECRET'])
  // Looking changes nothing: what the first start makes is left to it.
  if (!hasStore(config.stateFolder)) return folder
  const opened = await openState(config, where)()
  if (E.isLeft(opened)) {
    const { code, sentence } = opened.left
    const known = folder.some(finding => finding.sentence === sentence)
    return known ? folder : [...folder, problem('store', code, sentence)]
  }
  const store = await lookAtStore(opened.right)()
  await opened.right.close()
  return [...folder, ...store]
}

const mend = async (config: Config, where: Surroundings): Promise<readonly string[]> => {
  const folder = fixFolder(config.stateFolder)
  if (!hasStore(config.stateFolder)) return folder
  const opened = await openState(config, where)()
  if (E.isLeft(opened)) return folder
  const store = await fixStore(opened.right)()
  await opened.right.close()
  return [...folder, ...store]
}
