import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf, type Mismatch, sayMismatch } from './decode.ts'
import { type Failure, failure } from './failure.ts'
import { stringsOnWire, versionOnWire } from './version.ts'

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

const isString = (value: unknown): value is string => typeof value === 'string'
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const name = leaf('a non-empty string', (value): value is string => isString(value) && value.trim() !== '')
const prompt = leaf(
  'a non-empty string without NUL characters or lone surrogates',
  (value): value is string => isString(value) && value.trim() !== '' && !value.includes('\0') && value.isWellFormed(),
)
const depth = leaf('a non-negative integer', isCount)
export const threadNames = 'a name of 1 to 100 letters, digits, dots, dashes, underscores, colons and slashes'

const threadName = leaf(threadNames, (value): value is string => isString(value) && isThreadName(value))

const rootId = leaf(
  'the id of a piece of work, 1 to 64 letters and digits',
  (value): value is string => isString(value) && isRootId(value),
)

/** What the id of a piece of work looks like. */
export const isRootId = (id: string): boolean => /^[A-Za-z0-9]{1,64}$/.test(id)

/** What a thread may be called. */
export const isThreadName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/.test(name)

const talkRequest = t.intersection([
  t.type({ fromInstance: name, prompt, depth }),
  t.partial({
    protocolVersion: versionOnWire,
    capabilities: stringsOnWire,
    ext: t.partial({ thread: threadName, root: rootId }),
  }),
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
