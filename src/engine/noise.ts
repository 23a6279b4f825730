import { stripVTControlCharacters } from 'node:util'

/** The end of a stream that nobody reads as a whole. */
export interface Tail {
  readonly add: (bytes: Uint8Array) => void
  /** Without terminal escapes and control bytes. */
  readonly text: () => string
}

/** Keeps the last 16 KiB, whatever comes, at a cost that grows with what comes and no faster. */
export const tail = (): Tail => {
  let parts: Uint8Array[] = []
  let length = 0
  const add = (bytes: Uint8Array): void => {
    const kept = Buffer.from(bytes.length > keptBytes ? bytes.subarray(bytes.length - keptBytes) : bytes)
    parts.push(kept)
    length += kept.length
    if (length > 4 * keptBytes || parts.length > 256) parts = [Buffer.from(last(parts))]
    if (parts.length === 1) length = parts[0]?.length ?? 0
  }
  return { add, text: () => plain(last(parts).toString('utf8')) }
}

/** The same for what stands between records, without the punctuation of lists. */
export const noiseTail = (): Tail => {
  const all = tail()
  let atLineStart = true
  return {
    add: bytes => {
      const ends = bytes.at(-1)
      if (ends === undefined || (atLineStart && bytes.length === 1 && ends === newline)) return
      atLineStart = ends === newline
      all.add(bytes)
    },
    text: () =>
      all
        .text()
        .split('\n')
        .filter(line => !/^[\s,[\]]*$/.test(line))
        .join('\n'),
  }
}

const keptBytes = 16 * 1024

const last = (parts: readonly Uint8Array[]): Buffer => {
  const all = Buffer.concat(parts)
  return all.subarray(Math.max(0, all.length - keptBytes))
}

// Line ends are kept, so that a classifier can look at lines.
const plain = (text: string): string =>
  stripVTControlCharacters(text.replaceAll(/\r\n?/g, '\n')).replaceAll(/[^\P{Cc}\n\t]/gu, '')

const newline = 0x0a
