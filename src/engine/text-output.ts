import { type Tail, tail } from './noise.ts'

/** The stdout of an engine whose stdout is its answer. */
export interface TextOutput {
  readonly push: (chunk: Uint8Array) => void
  /** As it was printed, but for one line end at its end, which programs add and nobody means. */
  readonly text: () => string
  /** The end of it, for a sentence about a failure. */
  readonly noise: () => string
}

/** Keeps all of it, up to a limit; past that it tells so once, and keeps no more. */
export const readText = (limitBytes: number, tooLong: () => void): TextOutput => {
  const parts: Uint8Array[] = []
  let length = 0
  let full = false
  return {
    push: chunk => {
      if (full) return
      length += chunk.length
      if (length > limitBytes) {
        full = true
        tooLong()
      } else {
        parts.push(chunk)
      }
    },
    text: () =>
      Buffer.concat(parts)
        .toString('utf8')
        .replace(/\r?\n$/, ''),
    noise: () => parts.reduce<Tail>(addTo, tail()).text(),
  }
}

const addTo = (all: Tail, part: Uint8Array): Tail => {
  all.add(part)
  return all
}
