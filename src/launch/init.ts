import { randomBytes } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Config, Mistakes } from '../config/config.ts'
import { readConfig } from '../config/find.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { whyUnreadable } from '../config/why-unreadable.ts'
import { failure } from '../protocol/failure.ts'
import { lookAtEngines } from './doctor-engines.ts'
import { budgetsFor, isReady, laidOut, schemaFor } from './init-budgets.ts'

/** A budgets.json that was written. */
export interface Written {
  readonly config: Config
  /** CLIs that are installed, and got no instance. */
  readonly skipped: readonly { readonly engine: string; readonly why: string }[]
  /** Nothing was found, so there is an example instead. */
  readonly example: boolean
}

/** Writes a budgets.json from what is installed and logged in; never over one that is there, unless forced. */
export const writeBudgets =
  (where: Surroundings, flag: string | undefined, force: boolean): TE.TaskEither<Mistakes, Written> =>
  async () => {
    const file = path.resolve(where.folder, flag ?? (where.environment['ERRAND_CONFIG'] || 'budgets.json'))
    // Before the CLIs are asked, which takes seconds.
    if (!force && (await exists(file))) return E.left([isThere(file)])
    const engines = await lookAtEngines(undefined, where)()
    const ready = engines.filter(isReady)
    const schema = await schemaFor(path.dirname(file), where.errand[1])
    const written = await write(file, laidOut(budgetsFor(ready, schema)), force, where)
    if (E.isLeft(written)) return written
    const skipped = engines
      .filter(facts => facts.path !== undefined && !ready.includes(facts))
      .map(({ name, login }) => ({
        engine: name,
        why: login?.state === 'no' ? `not logged in: ${login.how}` : 'whether it is logged in cannot be told',
      }))
    return E.right({ config: written.right, skipped, example: ready.length === 0 })
  }

/** It is read under another name before it gets its own, so that no half or wrong one is ever there. */
const write = async (
  file: string,
  content: string,
  force: boolean,
  where: Surroundings,
): Promise<E.Either<Mistakes, Config>> => {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await fs.mkdir(path.dirname(file), { recursive: true })
    await fs.writeFile(draft, content, { flag: 'wx' })
    const sound = await readConfig(draft, where)()
    if (E.isLeft(sound)) return sound
    if (force) await fs.rename(draft, file)
    // A link cannot replace what somebody else has made meanwhile.
    else await fs.link(draft, file)
    return await readConfig(file, where)()
  } catch (error) {
    if (!force && (await exists(file))) return E.left([isThere(file)])
    return E.left([failure('write_permission', `${file} cannot be written (${whyUnreadable(error)}).`)])
  } finally {
    await fs.rm(draft, { force: true }).catch(() => undefined)
  }
}

const isThere = (file: string) =>
  failure('invalid_request', `${file} is there already, and is left as it is. \`errand init --force\` replaces it.`)

const exists = async (file: string): Promise<boolean> => {
  try {
    await fs.lstat(file)
    return true
  } catch {
    return false
  }
}
