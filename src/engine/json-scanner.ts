/** The grammar of JSON, a byte at a time, from one `{` to its `}`. */
export interface JsonScanner {
  /** Starts anew at a `{`; `begins` tells whether that stands at the start of a line. */
  readonly start: () => void
  /**
   * Reads on from `at`. `done`: the object ended before `next`. `broken`: the byte at `next` cannot stand there.
   * `more`: the bytes ended first.
   */
  readonly scan: (bytes: Uint8Array, at: number) => { readonly verdict: Verdict; readonly next: number }
  /** Whole objects that began a line inside what is scanned: they outlive it when it turns out to be broken. */
  readonly inner: () => readonly Span[]
  /** `NaN` and `Infinity`, which some programs print bare. */
  readonly bare: () => readonly Span[]
}

export type Verdict = 'done' | 'broken' | 'more'

/** Offsets from the first byte of the object; the end is exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const jsonScanner = (): JsonScanner => {
  let state: number = expects.keyOrEnd
  let inKey = false
  let hexLeft = 0
  let word = ''
  let wordAt = 0
  let offset = 0
  let previous = 0
  let nesting: { readonly list: boolean; readonly lineStart: number }[] = []
  let inner: Span[] = []
  let bare: Span[] = []

  const start = (): void => {
    state = expects.keyOrEnd
    offset = 1
    previous = brace
    nesting = [{ list: false, lineStart: -1 }]
    inner = []
    bare = []
  }

  const open = (list: boolean, at: number): boolean => {
    nesting.push({ list, lineStart: !list && previous === newline ? at : -1 })
    state = list ? expects.valueOrEnd : expects.keyOrEnd
    return nesting.length <= maxNesting
  }

  const close = (list: boolean, at: number): boolean => {
    const top = nesting.pop()
    if (top === undefined || top.list !== list) return false
    if (top.lineStart >= 0) {
      while ((inner.at(-1)?.from ?? -1) >= top.lineStart) inner.pop()
      inner.push({ from: top.lineStart, to: at + 1 })
    }
    state = expects.commaOrEnd
    return true
  }

  const value = (byte: number, at: number): boolean => {
    if (byte === quote) {
      inKey = false
      state = expects.string
      return true
    }
    if (byte === brace) return open(false, at)
    if (byte === bracket) return open(true, at)
    word = String.fromCharCode(byte)
    wordAt = at
    state = expects.word
    return wordStart.test(word)
  }

  const structure = (byte: number, at: number): boolean => {
    if (state === expects.value) return value(byte, at)
    if (state === expects.valueOrEnd) return byte === closeBracket ? close(true, at) : value(byte, at)
    if (state === expects.colon) {
      state = expects.value
      return byte === colon
    }
    if (state === expects.commaOrEnd) {
      if (byte === closeBrace) return close(false, at)
      if (byte === closeBracket) return close(true, at)
      state = nesting.at(-1)?.list === true ? expects.value : expects.key
      return byte === comma
    }
    if (byte === closeBrace && state === expects.keyOrEnd) return close(false, at)
    inKey = true
    state = expects.string
    return byte === quote
  }

  const endWord = (at: number): boolean => {
    state = expects.commaOrEnd
    if (bareWords.has(word)) bare.push({ from: wordAt, to: at })
    return bareWords.has(word) || words.has(word) || number.test(word)
  }

  const scan: JsonScanner['scan'] = (bytes, from) => {
    const base = offset - from
    let at = from
    const stop = (verdict: Verdict, next: number) => {
      offset = base + next
      return { verdict, next }
    }
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0
      if (state === expects.string) {
        at = stringEnd(bytes, at)
        if (at === bytes.length) break
        const ends = bytes[at]
        if (ends === quote) state = inKey ? expects.colon : expects.commaOrEnd
        else if (ends === backslash) state = expects.escape
        else return stop('broken', at)
      } else if (state === expects.escape) {
        hexLeft = byte === letterU ? 4 : 0
        state = hexLeft > 0 ? expects.hex : expects.string
        if (!escapable.includes(String.fromCharCode(byte))) return stop('broken', at)
      } else if (state === expects.hex) {
        if (!hexDigit.test(String.fromCharCode(byte))) return stop('broken', at)
        if (--hexLeft === 0) state = expects.string
      } else if (state === expects.word && wordPart(byte) && word.length < maxWord) {
        word += String.fromCharCode(byte)
      } else if (state === expects.word) {
        if (!endWord(base + at)) return stop('broken', at)
        continue
      } else if (!isSpace(byte)) {
        if (!structure(byte, base + at)) return stop('broken', at)
        if (nesting.length === 0) return stop('done', at + 1)
      }
      previous = byte
      at++
    }
    return stop('more', at)
  }

  return { start, scan, inner: () => inner, bare: () => bare }
}

const expects = {
  value: 0,
  valueOrEnd: 1,
  keyOrEnd: 2,
  key: 3,
  colon: 4,
  commaOrEnd: 5,
  string: 6,
  escape: 7,
  hex: 8,
  word: 9,
} as const

const [quote, comma, colon, backslash, letterU] = [0x22, 0x2c, 0x3a, 0x5c, 0x75]
const [brace, closeBrace, bracket, closeBracket, newline] = [0x7b, 0x7d, 0x5b, 0x5d, 0x0a]

const escapable = '"\\/bfnrtu'
const hexDigit = /[0-9a-fA-F]/
const wordStart = /[-0-9tfnNI]/
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words = new Set(['true', 'false', 'null'])
const bareWords = new Set(['NaN', 'Infinity', '-Infinity'])

// No record of a CLI nests so deep; what does would only exhaust a stack.
const maxNesting = 512
// A longer number is no number.
const maxWord = 400

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const wordPart = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e

// Where the plain part of a string stops: a quote, a backslash, a control byte (which no string may hold), or the end.
const stringEnd = (bytes: Uint8Array, from: number): number => {
  let at = from
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0
    if (byte === quote || byte === backslash || byte < 0x20) return at
    at++
  }
  return at
}
