import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Mistakes } from './config.ts'
import type { State } from './state.ts'

export interface Stopped {
  /** Ended now. */
  readonly stopped: readonly string[]
  /** Asked, but not gone within the time. */
  readonly still: readonly string[]
  /** Entries of dead processes, or of processes that cannot be seen from here, that were dropped. */
  readonly forgotten: readonly string[]
}

/** `errand stop [NAME…]`: asks their hosts, and waits at most `waitMs`. No names: every instance that runs. */
export const stopInstances = (
  _state: State,
  _names: readonly string[],
  _waitMs: number,
): TE.TaskEither<Mistakes, Stopped> => {
  throw new Error('not built yet')
}
