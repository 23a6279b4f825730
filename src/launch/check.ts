import type * as T from 'fp-ts/lib/Task.js'
import type { Config, Mistakes } from './config.ts'
import type { Surroundings } from './surroundings.ts'

export interface Checked {
  readonly mistakes: Mistakes | readonly []
  readonly warnings: readonly string[]
}

/** Whether its instances (or these) could run now: engines load, files exist, CLIs are found, fixed ports are free. */
export const check = (_config: Config, _where: Surroundings, _only?: readonly string[]): T.Task<Checked> => {
  throw new Error('not built yet')
}
