import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Json } from '../protocol/decode.ts'
import { capabilities, decodeEnvelope, type Envelope, failureEnvelope, protocolVersion } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { ask, type Received, type TransportFailure } from './ask.ts'
import { hintOf } from './hint.ts'

/** Whom to talk to. Of `url` the port alone is used: a talk never leaves 127.0.0.1. */
export interface Target {
  readonly name: string
  readonly url: string
}

export interface Talk {
  readonly fromInstance: string
  readonly prompt: string
  /** The caller's own depth: 0 for a person; the wire carries one more (protocol, "Request Shape"). */
  readonly depth: number
}

/** The bus secret or a turn token; `undefined` sends no Authorization at all. */
export interface Credentials {
  readonly bearer: string | undefined
}

export interface DelegateOptions {
  /** From the call to the last byte of the answer; without it, as long as the target takes. */
  readonly timeoutMs?: number
  /** The limit that the caller gave, where a part of it was used up before this call: a timeout names it. */
  readonly wholeTimeoutMs?: number
  /** Aborted: hangs up, by which the target cancels the turn. */
  readonly signal?: AbortSignal
  /** The longest answer that is read; 64 MiB unless told. */
  readonly responseLimitBytes?: number
  readonly now: () => number
}

/** What became of a talk. */
export interface Reply {
  readonly envelope: Envelope
  /** The same talk can be sent again without running twice: nothing was sent, or the target says that it is retryable. */
  readonly repeatable: boolean
  /** Nothing ran: nobody listened, or who did was about to stop. Another look into the registry may find the instance. */
  readonly gone: boolean
}

const defaultResponseLimitBytes = 64 * 1024 * 1024

/** The act of sending one talk. Never rejects: whatever goes wrong is an envelope with a code. */
export const delegate =
  (target: Target, talk: Talk, credentials: Credentials, options: DelegateOptions): T.Task<Reply> =>
  async () => {
    const startedAtMs = options.now()
    const received = await ask(
      {
        port: Number(new URL(target.url).port),
        path: '/api/talk',
        body: JSON.stringify({
          fromInstance: talk.fromInstance,
          prompt: talk.prompt,
          depth: talk.depth + 1,
          protocolVersion,
          capabilities,
        }),
        responseLimitBytes: options.responseLimitBytes ?? defaultResponseLimitBytes,
        ...(credentials.bearer === undefined ? {} : { bearer: credentials.bearer }),
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
        ...(options.wholeTimeoutMs === undefined ? {} : { wholeTimeoutMs: options.wholeTimeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      target.name,
    )()
    const facts = { fromInstance: target.name, durationMs: options.now() - startedAtMs }
    return pipe(
      received,
      E.chainW(answer => read(answer, facts, options.now())),
      E.match(
        ({ why, sent }): Reply => ({
          envelope: failureEnvelope(why, facts),
          repeatable: !sent && why.code !== 'cancelled',
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
  }

/** A talk that was refused before anything was sent. */
export const refusedReply = (why: Failure, target: string): Reply => ({
  envelope: failureEnvelope(why, { fromInstance: target, durationMs: 0 }),
  repeatable: false,
  gone: false,
})

/** The body decides, whatever the status. */
const read = (
  answer: Received,
  facts: { readonly fromInstance: string; readonly durationMs: number },
  nowMs: number,
): E.Either<TransportFailure, Envelope> =>
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
