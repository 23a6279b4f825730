import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { ownersOfOpenTurns } from '../budget/recover.ts'
import type { Failure } from '../protocol/failure.ts'
import type { State } from './state.ts'

/**
 * Whether all of these run, on the engines of budgets.json, and no dead host left anything to clean up. Then a talk needs
 * nothing of what hosts instances, and need not wait for it to be loaded.
 */
export const nothingToLaunch = (
  { config, registry, store }: Pick<State, 'config' | 'registry' | 'store'>,
  names: readonly string[],
): TE.TaskEither<Failure, boolean> =>
  pipe(
    ownersOfOpenTurns(store),
    TE.chain(registry.deadOwners),
    TE.bindTo('dead'),
    TE.bind('entries', () => registry.list()),
    TE.map(({ dead, entries }) => {
      const engines = new Map(entries.map(({ name, engine }) => [name, engine]))
      return dead.length === 0 && names.every(name => engines.get(name) === config.instances.get(name)?.engine)
    }),
  )
