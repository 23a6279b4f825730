import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../protocol/decode.ts'

/** Why a text is no JSON, and where. */
export interface JsonFault {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units as editors count. */
  readonly column: number
  readonly what: string
}

/**
 * JSON as a person wrote it. Stricter than `JSON.parse` in one thing (a key that stands twice in an object is a fault, for
 * one of the two would silently be lost), and it always knows the place.
 */
export const readJsonText = (text: string): E.Either<JsonFault, Json> => {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const reader: Reader = { source, at: 0, depth: 0 }
  try {
    const value = readValue(reader)
    skipSpace(reader)
    if (reader.at < source.length) throw new Fault(reader.at, 'something follows the end of the document')
    return E.right(value)
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    const before = source.slice(0, fault.at).split('\n')
    return E.left({ line: before.length, column: (before.at(-1)?.length ?? 0) + 1, what: fault.message })
  }
}

// Thrown and caught in this file alone: a way out of the recursion.
class Fault extends Error {
  readonly at: number
  constructor(at: number, what: string) {
    super(what)
    this.at = at
  }
}

interface Reader {
  readonly source: string
  at: number
  depth: number
}

const deepest = 64

const readValue = (reader: Reader): Json => {
  skipSpace(reader)
  const next = reader.source[reader.at]
  if (next !== '{' && next !== '[') return readLeaf(reader)
  if (++reader.depth > deepest) throw new Fault(reader.at, `nested deeper than ${deepest} levels`)
  const value = next === '{' ? readObject(reader) : readList(reader)
  reader.depth--
  return value
}

const readObject = (reader: Reader): Json => {
  const entries = new Map<string, Json>()
  reader.at++
  if (takes(reader, '}')) return {}
  do {
    skipSpace(reader)
    const keyAt = reader.at
    const key = reader.source[keyAt] === '"' ? readLeaf(reader) : undefined
    if (typeof key !== 'string') throw new Fault(keyAt, `expected a key in double quotes, found ${found(reader)}`)
    if (entries.has(key)) throw new Fault(keyAt, `the key ${JSON.stringify(key)} stands twice in one object`)
    if (!takes(reader, ':')) throw new Fault(reader.at, `expected ":" after the key, found ${found(reader)}`)
    entries.set(key, readValue(reader))
  } while (takes(reader, ','))
  if (!takes(reader, '}')) throw new Fault(reader.at, `expected "," or "}", found ${found(reader)}`)
  return Object.fromEntries(entries)
}

const readList = (reader: Reader): Json => {
  const items: Json[] = []
  reader.at++
  if (takes(reader, ']')) return items
  do items.push(readValue(reader))
  while (takes(reader, ','))
  if (!takes(reader, ']')) throw new Fault(reader.at, `expected "," or "]", found ${found(reader)}`)
  return items
}

const leafPattern = /"(?:[^"\\\n]+|\\.)*"|-?[0-9][0-9.eE+-]*|[A-Za-z]+/y

const readLeaf = (reader: Reader): Json => {
  leafPattern.lastIndex = reader.at
  const text = leafPattern.exec(reader.source)?.[0]
  if (text === undefined) throw new Fault(reader.at, `expected a value, found ${found(reader)}`)
  try {
    const value: Json = JSON.parse(text)
    reader.at += text.length
    return value
  } catch {
    throw new Fault(reader.at, `${text.slice(0, 40)} is not a JSON value`)
  }
}

const takes = (reader: Reader, sign: string): boolean => {
  skipSpace(reader)
  if (reader.source[reader.at] !== sign) return false
  reader.at++
  return true
}

const skipSpace = (reader: Reader): void => {
  while (/[ \t\r\n]/.test(reader.source[reader.at] ?? '')) reader.at++
}

const found = ({ source, at }: Reader): string =>
  at >= source.length ? 'the end of the file' : JSON.stringify(source[at])
