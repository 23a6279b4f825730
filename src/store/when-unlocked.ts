import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import { isLocked, storeFailure } from './store-failure.ts'

/** Tries until the file is not locked, for as long as `spanMs`. SQLite's own waiting would block the event loop. */
export const whenUnlocked =
  <A>(file: string, spanMs: number, attempt: () => A): TE.TaskEither<Failure, A> =>
  async () => {
    let waitedMs = 0
    for (;;) {
      try {
        return E.right(attempt())
      } catch (cause) {
        if (!isLocked(cause) || waitedMs >= spanMs) return E.left(storeFailure(file, cause))
      }
      const pauseMs = 5 + Math.random() * 20
      await pause(pauseMs)
      waitedMs += pauseMs
    }
  }
