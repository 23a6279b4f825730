import { stripVTControlCharacters } from 'node:util'

/** The end of a stream that nobody reads as a whole. */
export interface Tail {
  readonly add: (bytes: Uint8Array) => void
  /** Without terminal escapes and control bytes. */
  readonly text: () => string
}

/** Keeps the last 16 KiB, whatever comes, at a cost that grows with what comes and no faster. */
export const tail = (): Tail => {
  let room = Buffer.alloc(0)
  let used = 0
  const add = (all: Uint8Array): void => {
    const bytes = all.length > keptBytes ? all.subarray(all.length - keptBytes) : all
    if (room.length === 0) room = Buffer.alloc(4 * keptBytes)
    if (used + bytes.length > room.length) {
      room.copyWithin(0, used - keptBytes, used)
      used = keptBytes
    }
    room.set(bytes, used)
    used += bytes.length
  }
  return { add, text: () => plain(room.toString('utf8', Math.max(0, used - keptBytes), used)) }
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

// Line ends are kept, so that a classifier can look at lines.
const plain = (text: string): string =>
  stripVTControlCharacters(text.replaceAll(/\r\n?/g, '\n')).replaceAll(/[^\P{Cc}\n\t]/gu, '')

const newline = 0x0a
