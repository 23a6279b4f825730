import { parentPort } from 'node:worker_threads'
import type { Json } from '../protocol/decode.ts'

/**
 * A part of a parsed value. `open` begins a list or an object that is too large for one piece (they are numbered in the order
 * of their opening); `values` are members of one of them, or the whole value when `into` is -1.
 */
export type Piece =
  | { readonly kind: 'open'; readonly into: number; readonly key: string; readonly list: boolean }
  | {
      readonly kind: 'values'
      readonly into: number
      readonly keys: readonly string[]
      readonly values: readonly Json[]
    }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed' }

let rest: Iterator<Piece, void> | undefined

parentPort?.on('message', (message: ArrayBuffer | 'more') => {
  try {
    if (message !== 'more') rest = pieces(parse(message), -1, '', { opened: 0 })
    const next = rest?.next()
    say(next === undefined || next.done === true ? { kind: 'done' } : next.value)
  } catch {
    say({ kind: 'failed' })
  }
})

const say = (piece: Piece): void => {
  if (piece.kind === 'done' || piece.kind === 'failed') rest = undefined
  parentPort?.postMessage(piece)
}

// The bytes are let go of before the text is parsed: a record is large here.
const parse = (bytes: ArrayBuffer): Json => {
  const text = Buffer.from(bytes).toString('utf8')
  if (bytes.resizable) bytes.resize(0)
  return JSON.parse(text)
}

// What the main thread takes over at once: some milliseconds of its time.
const pieceWeight = 512 * 1024

const pieces = function* (value: Json, into: number, key: string, count: { opened: number }): Generator<Piece, void> {
  if (typeof value !== 'object' || value === null || weigh(value, pieceWeight) <= pieceWeight) {
    yield { kind: 'values', into, keys: [key], values: [value] }
    return
  }
  yield { kind: 'open', into, key, list: Array.isArray(value) }
  const self = count.opened++
  let keys: string[] = []
  let values: Json[] = []
  let weight = 0
  for (const [name, member] of membersOf(value)) {
    const memberWeight = weigh(member, pieceWeight)
    if (weight + memberWeight > pieceWeight && keys.length > 0) {
      yield { kind: 'values', into: self, keys, values }
      keys = []
      values = []
      weight = 0
    }
    if (memberWeight > pieceWeight) {
      yield* pieces(member, self, name, count)
    } else {
      keys.push(name)
      values.push(member)
      weight += memberWeight
    }
  }
  if (keys.length > 0) yield { kind: 'values', into: self, keys, values }
}

type Compound = Extract<Json, object>

// One at a time: a list of millions is not to be listed again. The key of an element does not matter.
const membersOf = function* (value: Compound): Generator<readonly [string, Json]> {
  if (isList(value)) for (const member of value) yield ['', member]
  else for (const name of Object.keys(value)) yield [name, value[name] ?? null]
}

const isList = (value: Compound): value is readonly Json[] => Array.isArray(value)

// Roughly what a value takes; looked at no longer than until it is too much.
const weigh = (value: Json, limit: number): number => {
  if (typeof value === 'string') return 32 + value.length
  if (value === null || typeof value !== 'object') return 32
  let weight = 64
  for (const member of isList(value) ? value : Object.values(value)) {
    weight += 32 + weigh(member, limit - weight)
    if (weight > limit) break
  }
  return weight
}
