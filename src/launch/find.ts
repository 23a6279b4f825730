import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Config, Mistakes } from './config.ts'
import type { Surroundings } from './surroundings.ts'

/** Finds budgets.json (`flag`, else ERRAND_CONFIG, else upward from the folder), reads and decodes it; loads no engine. */
export const readConfig = (_flag: string | undefined, _where: Surroundings): TE.TaskEither<Mistakes, Config> => {
  throw new Error('not built yet')
}
