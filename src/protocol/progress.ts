import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf } from './decode.ts'

/**
 * What a talk tells while it goes on, in the order in which it happens: first `accepted`, then `started`, then whatever the
 * turn does. Kinds are added, never renamed.
 */
export type Progress =
  /** The talk was let through: this is its turn, whether it runs at once or waits. `depth` is that of the talk. */
  | { readonly kind: 'accepted'; readonly turn: string; readonly root: string; readonly depth: number }
  /** It waits no longer: its provider CLI runs. */
  | { readonly kind: 'started' }
  /** It uses a tool, under the name that the CLI has for it. */
  | { readonly kind: 'tool'; readonly name: string }
  /** Something that it says; with `delta` it goes on with the text before, without it a new message begins. */
  | { readonly kind: 'text'; readonly text: string; readonly delta: boolean }
  /** What it has spent so far: US dollars and tokens, 0 or more. What it cost in the end stands in the envelope. */
  | { readonly kind: 'spend'; readonly usd: number; readonly tokens: number }
  /** The CLI tries again: after an HTTP status of the provider, in so many milliseconds, where it tells. */
  | { readonly kind: 'retry'; readonly status?: number; readonly retryAfterMs?: number }

/** One event of a talk that is followed. `id` rises from 1; a gap tells that a reader was too slow for what is missing. */
export type ProgressEvent = Progress & { readonly id: number }

/** The last event of a stream, after which there is none: the answer. */
export const envelopeEvent = 'envelope'

const string = leaf('a string', (value): value is string => typeof value === 'string')
const flag = leaf('true or false', (value): value is boolean => typeof value === 'boolean')
const number = leaf('a non-negative number', (value): value is number => Number.isFinite(value) && Number(value) >= 0)

const bodies = {
  accepted: t.type({ turn: string, root: string, depth: number }),
  started: t.type({}),
  tool: t.type({ name: string }),
  text: t.type({ text: string, delta: flag }),
  spend: t.type({ usd: number, tokens: number }),
  retry: t.partial({ status: number, retryAfterMs: number }),
} as const

const progress: { readonly [Kind in Progress['kind']]: (value: unknown) => Progress | undefined } = {
  accepted: value => read(bodies.accepted, value, ({ turn, root, depth }) => ({ kind: 'accepted', turn, root, depth })),
  started: value => read(bodies.started, value, () => ({ kind: 'started' })),
  tool: value => read(bodies.tool, value, ({ name }) => ({ kind: 'tool', name })),
  text: value => read(bodies.text, value, ({ text, delta }) => ({ kind: 'text', text, delta })),
  spend: value => read(bodies.spend, value, ({ usd, tokens }) => ({ kind: 'spend', usd, tokens })),
  retry: value =>
    read(bodies.retry, value, ({ status, retryAfterMs }) => ({
      kind: 'retry',
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })),
}

const read = <A>(codec: t.Decoder<unknown, A>, value: unknown, make: (body: A) => Progress): Progress | undefined => {
  const decoded = decode(codec, value)
  return E.isLeft(decoded) ? undefined : make(decoded.right)
}

const isKind = (kind: string): kind is Progress['kind'] => Object.hasOwn(progress, kind)

/** One event from the wire; `undefined` for a kind that this version does not know, or another shape: those are passed over. */
export const decodeProgress = (kind: string, body: unknown): Progress | undefined =>
  isKind(kind) ? progress[kind](body) : undefined

/** One event as it crosses the wire (`text/event-stream`): a JSON text never holds a line break. */
export const sayEvent = (id: number, event: string, body: unknown): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(body)}\n\n`
