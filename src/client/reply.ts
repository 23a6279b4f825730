import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Json } from '../protocol/decode.ts'
import { decodeEnvelope, type Envelope, failureEnvelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Received, TransportFailure } from './ask.ts'
import { hintOf } from './hint.ts'

/** What became of a talk. */
export interface Reply {
  readonly envelope: Envelope
  /**
   * The same talk can be sent again without running twice: nothing was sent, the target says that it is retryable, or it has
   * a key and only its answer was lost.
   */
  readonly repeatable: boolean
  /** Nothing ran: nobody listened, or who did was about to stop. Another look into the registry may find the instance. */
  readonly gone: boolean
  /** The turn that it became, where it has a key and that was told; it may go on although its answer was lost. */
  readonly turn?: string
}

/** Who was asked, and how long ago. */
interface Asked {
  readonly fromInstance: string
  readonly durationMs: number
  /** The talk has an idempotency key. */
  readonly keyed?: boolean
}

/** What was received as the reply that it is: whatever came, or did not come, it is an envelope with a code. */
export const replyOf = (
  received: E.Either<TransportFailure, Received>,
  { keyed = false, ...asked }: Asked,
  nowMs: number,
): Reply =>
  pipe(
    received,
    E.chainW(answer => read(answer, asked, nowMs)),
    E.match(
      ({ why, sent }): Reply => ({
        envelope: failureEnvelope(why, asked),
        repeatable: why.code !== 'cancelled' && (!sent || (keyed && why.code !== 'timeout')),
        gone: !sent && why.code === 'instance_unavailable',
      }),
      (envelope): Reply => ({
        envelope,
        repeatable: !envelope.success && envelope.retryable,
        // One that names a turn tells of work that was begun.
        gone: !envelope.success && envelope.errorCode === 'instance_unavailable' && envelope.ext?.turn === undefined,
      }),
    ),
  )

/** A talk that was refused before anything was sent. */
export const refusedReply = (why: Failure, target: string): Reply => ({
  envelope: failureEnvelope(why, { fromInstance: target, durationMs: 0 }),
  repeatable: false,
  gone: false,
})

/** The body decides, whatever the status. */
const read = (answer: Received, facts: Asked, nowMs: number): E.Either<TransportFailure, Envelope> =>
  pipe(
    parsed(answer.body),
    E.chain(json => decodeEnvelope(json, facts)),
    E.bimap(
      why => ({ why: noEnvelope(facts.fromInstance, answer.status, why), sent: true }),
      envelope => withHint(envelope, answer.retryAfter, nowMs),
    ),
  )

const parsed = (body: string): E.Either<string, Json> => {
  if (body.trim() === '') return E.left('the answer is empty')
  return E.tryCatch(
    (): Json => JSON.parse(body),
    () => 'the answer is not JSON',
  )
}

const noEnvelope = (name: string, status: number, why: string): Failure =>
  failure(
    'invalid_response',
    `What listens on the port of ${name} sent no envelope (HTTP ${status}): ${why}. See whether another program took the port.`,
  )

const withHint = (envelope: Envelope, retryAfter: string | undefined, nowMs: number): Envelope => {
  const retryAfterMs = envelope.ext?.retryAfterMs ?? hintOf(retryAfter, nowMs)
  return envelope.success || retryAfterMs === undefined
    ? envelope
    : { ...envelope, ext: { ...envelope.ext, retryAfterMs } }
}
