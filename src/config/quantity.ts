/** `"90s"`, `"10m"`, `"1h"`, `"500ms"`, `"2d"` as milliseconds; `undefined` for anything else, bare numbers too. */
export const durationMs = (text: string): number | undefined => {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? []
  const factor = unit === undefined ? undefined : durations.get(unit)
  if (amount === undefined || factor === undefined) return undefined
  const ms = Math.round(Number(amount) * factor)
  return ms <= longestMs ? ms : undefined
}

/** A whole number of bytes, or `"1MiB"`, `"512KiB"`, `"1GiB"`; `undefined` for anything else. */
export const sizeBytes = (size: unknown): number | undefined => {
  if (typeof size === 'number') return Number.isSafeInteger(size) && size > 0 && size <= largestBytes ? size : undefined
  if (typeof size !== 'string') return undefined
  const [, amount, unit] = /^(\d{1,9})(B|KiB|MiB|GiB)$/.exec(size) ?? []
  const factor = unit === undefined ? undefined : sizes.get(unit)
  return amount === undefined || factor === undefined ? undefined : sizeBytes(Number(amount) * factor)
}

const durations = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

const sizes = new Map([
  ['B', 1],
  ['KiB', 1024],
  ['MiB', 1024 ** 2],
  ['GiB', 1024 ** 3],
])

// Node's timers know no more than 2^31 - 1 ms; a string of V8 is shorter than 2^29 units.
const longestMs = 24 * 86_400_000
const largestBytes = 256 * 1024 ** 2
