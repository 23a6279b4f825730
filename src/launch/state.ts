import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Ledger } from '../budget/ledger.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Config } from './config.ts'
import type { Registry } from './registry.ts'
import type { Surroundings } from './surroundings.ts'

/** The state folder of one budgets.json, open. (`store`, for the queries of ps, budget and log, joins when it exists.) */
export interface State {
  readonly config: Config
  readonly where: Surroundings
  readonly ledger: Ledger
  /** The bus secret; `undefined` under `"secret": false`. */
  readonly secret: string | undefined
  readonly registry: Registry
  readonly close: () => Promise<void>
}

/** Opens it, made when it does not exist yet. Left: no permission, a newer version, damaged, … */
export const openState = (_config: Config, _where: Surroundings): TE.TaskEither<Failure, State> => {
  throw new Error('not built yet')
}
