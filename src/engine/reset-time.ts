import { clockInMs } from './wall-clock.ts'

/** In how many milliseconds a provider's limit is over, as the first text that tells it has it. */
export const resetInMs = (texts: readonly string[], nowMs: number): number | undefined => {
  for (const text of texts) {
    const inMs = epoch(text, nowMs) ?? span(text) ?? field(text) ?? date(text, nowMs) ?? clockInMs(text, nowMs)
    if (inMs !== undefined && inMs <= longestMs) return Math.max(0, Math.ceil(inMs))
  }
  return undefined
}

const longestMs = 400 * 24 * 3_600_000

// `usage limit reached|1762952400`, `"resets_at":1762952400`, `x-ratelimit-reset: 1762952400000`
const epoch = (text: string, nowMs: number): number | undefined => {
  const told = /(?:\||\bresets?(?:[-_ ]?(?:at|time|on|requests|tokens))?\W{1,5})(\d{10})(?:\d{3})?\b/i.exec(text)?.[1]
  return told === undefined ? undefined : Number(told) * 1000 - nowMs
}

// `try again in 2 hours 13 minutes`, `retry after 1.5s`, `quota will reset after 2h10m3s`
const span = (text: string): number | undefined => {
  const told = /\b(?:again|retry|resets?|wait)\b(?: in| after| at least)? ((?:\d+(?:\.\d+)? ?[a-z]+[ ,]*(?:and )?)+)/i
  const parts = [...(told.exec(text)?.[1] ?? '').matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)]
  const spans = parts.map(
    ([, count, unit = '']) => Number(count) * (unitMs.find(([name]) => name.test(unit))?.[1] ?? NaN),
  )
  const total = spans.reduce((sum, ms) => sum + ms, 0)
  return spans.length === 0 || Number.isNaN(total) ? undefined : total
}

const unitMs: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
]

// `retry-after: 30` and `retry-after-ms: 1500` of a dumped answer, `"retryDelay": "37s"`, `"resets_in_seconds": 90`
const field = (text: string): number | undefined => {
  const [, name = '', count] =
    /\b(retry[-_ ]?(?:after|delay)(?:[-_ ]?(?:ms|seconds?|secs?))?|resets?[-_ ](?:in|after)[-_ ]seconds)\W{1,5}(\d+(?:\.\d+)?)(?:s\b|(?!\.?\w|[:-]\d))/i.exec(
      text,
    ) ?? []
  return count === undefined ? undefined : Number(count) * (/ms$/i.test(name) ? 1 : 1000)
}

// `resets at 2026-12-03T09:00:00Z`, `retry-after: Thu, 03 Dec 2026 09:00:00 GMT`; without a zone, the machine's.
const date = (text: string, nowMs: number): number | undefined => {
  const [, iso, zone = '', http = ''] =
    /\b(?:resets?|retry|again|until|after)\w*\W.{0,40}?\b(?:(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b)?|([a-z]{3}, \d\d [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT))/i.exec(
      text,
    ) ?? []
  const at = Date.parse(iso === undefined ? http : `${iso.replace(' ', 'T')}${zone.replace(/^(?:UTC|GMT)$/i, 'Z')}`)
  return Number.isNaN(at) ? undefined : at - nowMs
}
