import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, type Json, leaf, type Mismatch, sayMismatch } from './decode.ts'
import { factsOf } from './error-codes.ts'
import { type Failure, failure, oneLine } from './failure.ts'

export const protocolVersion = 1

/** What every process of this version does; only behaviour that is implemented is named. */
export const capabilities = ['structured-errors', 'retryable-errors'] as const

/** Behaviour that was added: a reply names it to those alone who named it. */
export const addedCapabilities = ['progress-events'] as const

/** What a reply lists to a caller that listed these. */
export const capabilitiesFor = (sent: readonly string[]): readonly string[] => [
  ...capabilities,
  ...addedCapabilities.filter(added => sent.includes(added)),
]

/** A talk as it crosses the bus; the legacy shape has the first three fields alone. Unknown fields are ignored. */
export interface TalkRequest {
  readonly fromInstance: string
  readonly prompt: string
  readonly depth: number
  readonly protocolVersion?: number
  readonly capabilities?: readonly string[]
  /** What the protocol does not name; only in here, so that a strict old peer can still read us. */
  readonly ext?: TalkExt
}

/** Request facts that the protocol does not name. */
export interface TalkExt {
  /** The conversation of this sender with this instance that the talk goes on with. */
  readonly thread?: string
  /** The piece of work that the talk belongs to; heard from the operator alone. */
  readonly root?: string
}

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
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const name = leaf('a non-empty string', (value): value is string => isString(value) && value.trim() !== '')
const prompt = leaf(
  'a non-empty string without NUL characters or lone surrogates',
  (value): value is string => isString(value) && value.trim() !== '' && !value.includes('\0') && value.isWellFormed(),
)
const depth = leaf('a non-negative integer', isCount)
const version = leaf('a positive integer', (value): value is number => isCount(value) && value > 0)
const strings = leaf(
  'a list of strings',
  (value): value is readonly string[] => Array.isArray(value) && value.every(isString),
)

const threadName = leaf(
  'a name of 1 to 100 letters, digits, dots, dashes, underscores, colons and slashes',
  (value): value is string => isString(value) && isThreadName(value),
)

const rootId = leaf(
  'the id of a piece of work, 1 to 64 letters and digits',
  (value): value is string => isString(value) && /^[A-Za-z0-9]{1,64}$/.test(value),
)

/** What a thread may be called. */
export const isThreadName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/.test(name)

const talkRequest = t.intersection([
  t.type({ fromInstance: name, prompt, depth }),
  t.partial({ protocolVersion: version, capabilities: strings, ext: t.partial({ thread: threadName, root: rootId }) }),
])

/** A talk from the wire, legacy or v1; a version that we do not know is served as v1. */
export const decodeTalkRequest = (value: unknown): E.Either<Failure, TalkRequest> =>
  pipe(
    decode(talkRequest, value),
    E.bimap(
      wrong => failure('invalid_request', `The request is not a talk: ${wrong.map(sayWrong).join('; ')}.`),
      talk => (Object.is(talk.depth, -0) ? { ...talk, depth: 0 } : talk),
    ),
  )

// The words of a prompt belong in no sentence: sentences are logged.
const sayWrong = (wrong: Mismatch): string =>
  sayMismatch(wrong.path === 'prompt' && wrong.found.startsWith('"') ? { ...wrong, found: 'one with them' } : wrong)

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
    protocolVersion: version,
    capabilities: strings,
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
  denied: strings,
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
