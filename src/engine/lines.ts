import { plain } from './noise.ts'

/** A stream of bytes, line by line. */
export interface Lines {
  readonly push: (bytes: Uint8Array) => void
  /** What has been said of a line that is not ended yet, if it is short: a question often is not ended. */
  readonly begun: () => string
  /** The stream has ended: the last line needs no end. */
  readonly end: () => void
}

/** Tells each line that says something, without control bytes; of a long one the beginning alone. In linear time. */
export const linesOf = (tell: (line: string) => void): Lines => {
  let held: Uint8Array[] = []
  let length = 0

  const keep = (bytes: Uint8Array): void => {
    const piece = bytes.subarray(0, longestBytes - length)
    if (piece.length === 0) return
    held.push(piece)
    length += piece.length
  }

  const text = (): string => plain(Buffer.concat(held).toString('utf8'))

  const end = (): void => {
    if (length === 0) return
    // A lone carriage return ends a line too: progress is written over itself.
    for (const line of text().split('\n')) if (line.trim() !== '') tell(line)
    held = []
    length = 0
  }

  return {
    push: bytes => {
      for (let at = 0; at < bytes.length; ) {
        const found = bytes.indexOf(newline, at)
        const stop = found === -1 ? bytes.length : found
        keep(bytes.subarray(at, stop))
        if (found !== -1) end()
        at = stop + 1
      }
    },
    begun: () => (length === 0 || length > shortBytes ? '' : text()),
    end,
  }
}

const newline = 0x0a

const longestBytes = 16 * 1024
const shortBytes = 1024
