import type * as T from 'fp-ts/lib/Task.js'
import type { Reply } from './reply.ts'

/** How a repetition waits after that reply; `pause` resolves early where the caller gives up. */
export interface Pauses {
  readonly pause: (ms: number, after: Reply) => Promise<void>
  /** 0 ≤ x < 1, so that many callers do not come back at the same instant. */
  readonly random: () => number
  readonly signal?: AbortSignal
}

const firstPauseMs = 500
const longestPauseMs = 30_000
/** A hint beyond this is an answer for people, not something to sit through. */
export const longestHintMs = 300_000

/**
 * Repeats a talk up to `times` more, only where that cannot run it twice. Pauses grow from half a second to 30 s; a longer
 * hint of the target is honoured up to five minutes, and beyond that its answer stands.
 */
export const retry =
  (attempt: T.Task<Reply>, times: number, { pause, random, signal }: Pauses): T.Task<Reply> =>
  async () => {
    let reply = await attempt()
    for (let tried = 0; tried < times && reply.repeatable; tried++) {
      const hintMs = reply.envelope.ext?.retryAfterMs ?? 0
      if (hintMs > longestHintMs) return reply
      const grown = Math.min(firstPauseMs * 2 ** tried, longestPauseMs)
      await pause(Math.max(hintMs, Math.round(grown * (0.5 + random() / 2))), reply)
      if (signal?.aborted) return reply
      reply = await attempt()
    }
    return reply
  }
