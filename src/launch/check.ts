import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import { checkPorts } from './check-ports.ts'
import type { Config, Mistakes } from './config.ts'
import { chosen } from './launch.ts'
import { loadInstances } from './load.ts'
import type { Surroundings } from './surroundings.ts'

export interface Checked {
  readonly mistakes: Mistakes
  readonly warnings: readonly string[]
}

/**
 * Whether its instances (or these) could run now: engines load, files exist, CLIs are found, fixed ports are free. A port
 * that is in use is a warning here, since the instance itself may use it.
 */
export const check =
  (config: Config, where: Surroundings, only?: readonly string[]): T.Task<Checked> =>
  async () => {
    const wanted = chosen(config, only)
    if (E.isLeft(wanted)) return { mistakes: wanted.left, warnings: config.warnings }
    const [loaded, ports] = await Promise.all([
      loadInstances(config, wanted.right, where)(),
      checkPorts(wanted.right)(),
    ])
    const inUse = ports.map(({ sentence }) => sentence)
    if (E.isLeft(loaded)) return { mistakes: loaded.left, warnings: [...config.warnings, ...inUse] }
    return {
      mistakes: [],
      warnings: [...config.warnings, ...loaded.right.flatMap(({ warnings }) => warnings), ...inUse],
    }
  }
