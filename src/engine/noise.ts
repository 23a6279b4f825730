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
  let isCut = false
  const add = (all: Uint8Array): void => {
    if (used + all.length > keptBytes) isCut = true
    const bytes = all.length > keptBytes ? all.subarray(all.length - keptBytes) : all
    if (room.length === 0) room = Buffer.alloc(4 * keptBytes)
    if (used + bytes.length > room.length) {
      room.copyWithin(0, used - keptBytes, used)
      used = keptBytes
    }
    room.set(bytes, used)
    used += bytes.length
  }
  const kept = (): Buffer => room.subarray(Math.max(0, used - keptBytes), used)
  // Half a line says something else than the whole one.
  const whole = (): Buffer => kept().subarray(isCut ? kept().indexOf(newline) + 1 : 0)
  return { add, text: () => plain(whole().toString('utf8')) }
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

/** Without terminal escapes and control bytes. Line ends are kept, so that a classifier can look at lines. */
export const plain = (text: string): string =>
  text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(escapes, '')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')

// Each alternative stops at the next escape, so that a text of nothing else is read once.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const escapes = /[\u001b\u009b](?:\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|\[?[0-?]*[ -/]*[@-~])/g

const newline = 0x0a
