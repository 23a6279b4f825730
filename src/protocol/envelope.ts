import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, type Json, leaf, sayMismatch } from './decode.ts'
import { factsOf } from './error-codes.ts'
import { type Failure, oneLine } from './failure.ts'
import { capabilities, protocolVersion, stringsOnWire, versionOnWire } from './version.ts'

/** Reply facts that the protocol does not name; they travel only in `ext`, so that a strict old peer can still read us. */
export interface ReplyExt {
  readonly turn?: string
  readonly model?: string
  /** US dollars, for people; the ledger counts integer micro-dollars. */
  readonly costUsd?: number
  readonly basis?: string
  readonly tokens?: number
  readonly retryAfterMs?: number
  readonly partialText?: string
  readonly denied?: readonly string[]
  /** The conversation that the talk went on with. */
  readonly thread?: string
  /** What the operator should know although the talk succeeded, such as a budget that is 80 % used. */
  readonly warning?: string
}

interface EnvelopeBase {
  /** The instance that answers. */
  readonly fromInstance: string
  readonly durationMs: number
  readonly protocolVersion: number
  readonly capabilities: readonly string[]
  readonly ext?: ReplyExt
}

/** The v1 envelope of a talk that gave an answer. */
export interface SuccessEnvelope extends EnvelopeBase {
  readonly success: true
  readonly text: string
}

/** The v1 envelope of a talk that did not: a code of the table (or a newer one), its sentence, and whether to try again. */
export interface FailureEnvelope extends EnvelopeBase {
  readonly success: false
  readonly text: ''
  readonly error: string
  readonly errorCode: string
  readonly retryable: boolean
}

/** What every talk is answered with (protocol, "Response Shape"). */
export type Envelope = SuccessEnvelope | FailureEnvelope

/** Who answers, how long it took, and what of the protocol's additions the caller knows. */
export interface ReplyFacts {
  readonly fromInstance: string
  readonly durationMs: number
  readonly capabilities?: readonly string[]
  readonly ext?: ReplyExt
}

const base = ({ fromInstance, durationMs, ext, ...facts }: ReplyFacts): EnvelopeBase => ({
  fromInstance,
  durationMs: Math.max(0, Math.round(durationMs)),
  protocolVersion,
  capabilities: facts.capabilities ?? capabilities,
  ...(ext === undefined || Object.keys(ext).length === 0 ? {} : { ext }),
})

export const successEnvelope = (text: string, facts: ReplyFacts): SuccessEnvelope => ({
  success: true,
  text,
  ...base(facts),
})

export const failureEnvelope = ({ code, sentence, retryAfterMs }: Failure, facts: ReplyFacts): FailureEnvelope => ({
  success: false,
  text: '',
  error: sentence,
  errorCode: code,
  retryable: factsOf(code).retryable,
  ...base(retryAfterMs === undefined ? facts : { ...facts, ext: { ...facts.ext, retryAfterMs } }),
})

const isString = (value: unknown): value is string => typeof value === 'string'

const flag = leaf('true or false', (value): value is boolean => typeof value === 'boolean')
const text = leaf('a string', isString)
const milliseconds = leaf(
  'a non-negative number',
  (value): value is number => Number.isFinite(value) && Number(value) >= 0,
)
const object = leaf(
  'an object',
  (value): value is { readonly [key: string]: Json } =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
)

const wireReply = t.intersection([
  t.type({ success: flag }),
  t.partial({
    text,
    fromInstance: text,
    error: text,
    errorCode: text,
    retryable: t.unknown,
    durationMs: milliseconds,
    protocolVersion: versionOnWire,
    capabilities: stringsOnWire,
    ext: object,
  }),
])

const ext = t.partial({
  turn: text,
  model: text,
  costUsd: milliseconds,
  basis: text,
  tokens: milliseconds,
  retryAfterMs: milliseconds,
  partialText: text,
  denied: stringsOnWire,
  thread: text,
  warning: text,
})

/**
 * A reply from the wire, legacy or v1, read with tolerance: unknown codes are kept, `retryable` is derived from the table
 * when it is missing, a legacy failure (`success: false` and `error` alone) is `unknown`. The left says why it is no envelope.
 */
export const decodeEnvelope = (value: unknown, facts: ReplyFacts): E.Either<string, Envelope> =>
  pipe(
    decode(wireReply, value),
    E.mapLeft(wrong => wrong.map(sayMismatch).join('; ')),
    E.chain((reply): E.Either<string, Envelope> => {
      const extra = E.getOrElse((): ReplyExt => ({}))(decode(ext, reply.ext ?? {}))
      const common: EnvelopeBase = {
        fromInstance: reply.fromInstance ?? facts.fromInstance,
        durationMs: reply.durationMs ?? facts.durationMs,
        protocolVersion: reply.protocolVersion ?? protocolVersion,
        capabilities: reply.capabilities ?? [],
        ...(Object.keys(extra).length === 0 ? {} : { ext: extra }),
      }
      if (reply.success) {
        return reply.text === undefined
          ? E.left('text must be a string, not missing')
          : E.right({ success: true, text: reply.text, ...common })
      }
      if (reply.error === undefined && reply.errorCode === undefined)
        return E.left('error must be a string, not missing')
      const code = reply.errorCode || 'unknown'
      return E.right({
        success: false,
        text: '',
        error: oneLine(reply.error ?? '') || code,
        errorCode: code,
        // Believed only where it is a boolean; else the table tells.
        retryable: flag.is(reply.retryable) ? reply.retryable : factsOf(code).retryable,
        ...common,
      })
    }),
  )
