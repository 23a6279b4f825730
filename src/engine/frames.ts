import type { Json } from '../protocol/decode.ts'
import { byteStore } from './byte-store.ts'
import { jsonScanner, type Span } from './json-scanner.ts'

/** What is cut out of a stream: a value, or the bytes of a long one that is still to be parsed. */
export interface FrameSinks {
  readonly value: (record: Json) => void
  /** The sink owns the buffer from here on. */
  readonly long: (bytes: ArrayBuffer) => void
  /** Bytes that belong to no record. */
  readonly noise: (bytes: Uint8Array) => void
  /** A record was damaged on its way. Its bytes, and what follows until the next whole record, are told to nobody. */
  readonly torn: () => void
  /** One record passed the limit; everything after it is discarded unread. */
  readonly tooLong: () => void
}

/** Cuts a stream of bytes into JSON objects, in linear time. */
export interface Frames {
  readonly push: (chunk: Uint8Array) => void
  /** The stream has ended: of a record that is half said, whole ones inside it are kept. */
  readonly end: () => void
}

/**
 * A record is a JSON object; lists around objects, commas, line ends, terminal escapes and other text between them are
 * noise. An object may span lines and chunks, and may start or end in the middle of a line. Text that looks like the start
 * of an object is given up at the first byte that JSON does not allow there, and the search goes on from that byte; objects
 * that began a line inside it are kept. One that had said its `type` was a record, and its words are no noise: they may be
 * those of an answer.
 */
export const frames = (wantedBytes: number, to: FrameSinks): Frames => {
  let torn = false
  const sinks: FrameSinks = {
    ...to,
    value: record => {
      torn = false
      to.value(record)
    },
    long: bytes => {
      torn = false
      to.long(bytes)
    },
    noise: bytes => {
      if (!torn) to.noise(bytes)
    },
    torn: () => {
      torn = true
      to.torn()
    },
  }
  const limitBytes = Math.min(wantedBytes, longestBytes)
  const scanner = jsonScanner()
  const store = byteStore(limitBytes)
  let inside = false
  let lineStart = true
  let discards = false
  // Where the next ones stand in the chunk at hand: each byte is searched once, however often the search is taken up.
  let nextBrace = -1
  let nextLineEnd = -1

  // A parser that fails is slow: after many lines that only looked like records, the loop does it all.
  let trust = 64

  const push = (chunk: Uint8Array): void => {
    let at = 0
    nextBrace = -1
    nextLineEnd = -1
    while (at < chunk.length && !discards) at = inside ? within(chunk, at) : between(chunk, at)
  }

  // Most records are a line of their own, which the engine's own parser takes faster than any loop of ours.
  const between = (chunk: Uint8Array, from: number): number => {
    let at = from
    while (at < chunk.length) {
      if (nextBrace < at) nextBrace = indexOrEnd(chunk, brace, at)
      if (nextLineEnd < at) nextLineEnd = indexOrEnd(chunk, newline, at)
      if (trust > 0 && lineStart && nextBrace === at && nextLineEnd < chunk.length && nextLineEnd - at <= limitBytes) {
        lineStart = false
        const record = lineAsRecord(chunk, at, nextLineEnd)
        trust += record === undefined ? -1 : 1
        if (record !== undefined) {
          sinks.value(record)
          at = nextLineEnd
          continue
        }
      }
      const stop = Math.min(nextLineEnd + 1, nextBrace, chunk.length)
      sinks.noise(chunk.subarray(at, stop))
      if (nextBrace === stop && nextBrace < chunk.length && nextBrace < nextLineEnd) {
        scanner.start()
        inside = true
        lineStart = false
        store.add(chunk.subarray(nextBrace, nextBrace + 1))
        return nextBrace + 1
      }
      lineStart = nextLineEnd < stop
      at = stop
    }
    return at
  }

  const within = (chunk: Uint8Array, from: number): number => {
    const { verdict, next } = scanner.scan(chunk, from)
    if (store.length() + next - from > limitBytes) {
      discards = true
      store.clear()
      sinks.tooLong()
      return next
    }
    store.add(chunk.subarray(from, next))
    if (verdict === 'more') return next
    inside = false
    if (verdict === 'done') complete()
    else giveUp(false)
    lineStart = verdict === 'broken' && next > 0 && chunk[next - 1] === newline
    return next
  }

  const complete = (): void => {
    const bare = scanner.bare()
    if (store.length() > longBytes) {
      sinks.long(store.take(bytes => spell(bytes, bare)))
      return
    }
    const record = parse(spell(store.bytes(), bare))
    if (record === undefined) sinks.noise(store.bytes())
    else sinks.value(record)
    store.clear()
  }

  const giveUp = (atEnd: boolean): void => {
    const bytes = spell(store.bytes(), scanner.bare())
    const rest = (piece: Uint8Array): void => {
      // Half a record at the end is no text for people either.
      if (atEnd) return
      if (saysType(piece)) sinks.torn()
      else sinks.noise(piece)
    }
    let at = 0
    for (const { from, to } of scanner.inner()) {
      rest(bytes.subarray(at, from))
      const record = parse(bytes.subarray(from, to))
      if (record !== undefined) sinks.value(record)
      at = to
    }
    rest(bytes.subarray(at))
    store.clear()
  }

  const end = (): void => {
    if (inside && !discards) giveUp(true)
    inside = false
  }

  return { push, end }
}

// No JavaScript string is longer.
const longestBytes = 2 ** 29 - 25

/** Longer ones are parsed off the main thread. */
const longBytes = 1024 * 1024

const [brace, closeBrace, quote, newline, carriageReturn] = [0x7b, 0x7d, 0x22, 0x0a, 0x0d]

const indexOrEnd = (bytes: Uint8Array, byte: number, from: number): number => {
  const at = bytes.indexOf(byte, from)
  return at === -1 ? bytes.length : at
}

const saysType = (bytes: Uint8Array): boolean =>
  /"type"\s*:/.test(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'))

const lineAsRecord = (chunk: Uint8Array, from: number, lineEnd: number): Json | undefined => {
  const to = chunk[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd
  const second = chunk[from + 1]
  const looksLikeOne = chunk[to - 1] === closeBrace && (second === quote || second === closeBrace)
  return looksLikeOne ? parse(chunk.subarray(from, to)) : undefined
}

const parse = (bytes: Uint8Array): Json | undefined => {
  try {
    const record: Json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
    return record
  } catch {
    return undefined
  }
}

// A bare NaN or Infinity is written over by a string of the same length: a value, but no number.
const spell = (bytes: Uint8Array, bare: readonly Span[]): Uint8Array => {
  for (const { from, to } of bare) {
    bytes.fill(0x20, from, to)
    bytes.fill(0x22, from, from + 2)
  }
  return bytes
}
