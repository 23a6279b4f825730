import fs from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { leftOpen } from '../budget/left-open.ts'
import { ownersOfOpenTurns } from '../budget/recover.ts'
import { openToOthers } from './doctor-folder.ts'
import { recover } from './recover.ts'
import type { State } from './state.ts'

/** Closes what is ours in the state folder to others; says what it did. */
export const fixFolder = (folder: string): readonly string[] =>
  openToOthers(folder).flatMap(({ path, shouldBe }) => {
    try {
      fs.chmodSync(path, shouldBe)
      return [`${path} is yours alone now.`]
    } catch {
      return []
    }
  })

/** Cleans up after hosts that died, as the next launch would; says what it did. */
export const fixStore =
  (state: State): T.Task<readonly string[]> =>
  async () => {
    const { store, registry } = state
    const done = await pipe(
      registry.list(),
      TE.bindTo('entries'),
      TE.bind('dead', () => pipe(ownersOfOpenTurns(store), TE.chain(registry.deadOwners))),
      TE.bind('open', ({ dead }) => leftOpen(store, dead)),
      TE.chainFirst(() => recover(state)),
    )()
    if (E.isLeft(done)) return []
    const { entries, open } = done.right
    return [
      ...open.map(({ turn, instance }) => `Turn ${turn} of ${instance} was ended, and is settled.`),
      ...entries
        .filter(({ life }) => life === 'dead')
        .map(({ name, pid }) => `The entry of ${name} for process ${pid} is dropped.`),
    ]
  }
