import type * as T from 'fp-ts/lib/Task.js'
import type { Reply } from '../client/delegate.ts'
import type { State } from './state.ts'

/** A talk by name, as a person, a script or a program inside a turn asks for it. */
export interface Ask {
  readonly name: string
  readonly prompt: string
  /** Who speaks; `operator` unless told. Inside a turn its own instance, and any other name is refused. */
  readonly from?: string
  /** The caller's own depth; 0 unless told. Inside a turn it is the turn's. */
  readonly depth?: number
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Repeats at most so often; 0 unless told. */
  readonly retry?: number
  /** What happens meanwhile, for a progress line. */
  readonly onEvent?: (event: TalkEvent) => void
  readonly verbose?: boolean
}

export type TalkEvent =
  | { readonly kind: 'warning'; readonly sentence: string }
  | { readonly kind: 'launched'; readonly instances: readonly string[] }
  | { readonly kind: 'sent'; readonly url: string }
  | { readonly kind: 'again'; readonly why: string }

/**
 * The whole of `errand talk`: early refusals, launching what does not run (never inside a turn), delegating, trying again
 * where that is safe, ending what it launched. Never rejects.
 */
export const talk = (_state: State, _ask: Ask): T.Task<Reply> => {
  throw new Error('not built yet')
}
