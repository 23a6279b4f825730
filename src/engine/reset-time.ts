/** In how many milliseconds a provider's limit is over, as the first text that tells it has it. */
export const resetInMs = (texts: readonly string[], nowMs: number): number | undefined => {
  for (const text of texts) {
    const inMs = epoch(text, nowMs) ?? span(text) ?? clock(text, nowMs)
    if (inMs !== undefined && inMs <= longestMs) return Math.max(0, Math.ceil(inMs))
  }
  return undefined
}

const longestMs = 400 * 24 * 3_600_000

// `Claude AI usage limit reached|1762952400`
const epoch = (text: string, nowMs: number): number | undefined => {
  const seconds = /\|(\d{10})(?:\d{3})?\b/.exec(text)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000 - nowMs
}

// `try again in 2 hours 13 minutes`, `retry after 1.5s`
const span = (text: string): number | undefined => {
  const told = /\b(?:again|retry|resets?|wait)\b(?: in| after| at least)? ((?:\d+(?:\.\d+)? ?[a-z]+[ ,]*(?:and )?)+)/i
  const parts = [...(told.exec(text)?.[1] ?? '').matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)]
  const spans = parts.map(
    ([, count, unit = '']) => Number(count) * (unitMs.find(([name]) => name.test(unit))?.[1] ?? NaN),
  )
  const total = spans.reduce((sum, ms) => sum + ms, 0)
  return spans.length > 0 && Number.isFinite(total) ? total : undefined
}

const unitMs: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
]

// `resets 2:30am (UTC)`, `resets Jun 9 at 1am (America/Sao_Paulo)`; without a zone, the machine's.
const clock = (text: string, nowMs: number): number | undefined => {
  const told =
    /\bresets?(?: at)? (?:([a-z]{3})[a-z]* (\d{1,2}),?(?: at)? )?(\d{1,2})(?::(\d{2}))? ?(am|pm)\b(?: \(([\w/+-]+)\))?/i
  const [, monthName, day, hour, minute = '0', half, zone] = told.exec(text) ?? []
  if (hour === undefined || !isZone(zone)) return undefined
  const now = wall(nowMs, zone)
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === 'pm' ? 12 : 0)
  const month = monthName === undefined ? undefined : months.indexOf(monthName.toLowerCase())
  if (month === -1) return undefined
  const at = (years: number, days: number): number =>
    instant(Date.UTC(now.year + years, month ?? now.month, Number(day ?? now.day) + days, hours, Number(minute)), zone)
  const soonest = at(0, 0) - nowMs
  if (soonest > 0) return soonest
  if (month !== undefined && soonest > -24 * 3_600_000) return 0
  return (month === undefined ? at(0, 1) : at(1, 0)) - nowMs
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const isZone = (zone: string | undefined): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

interface Wall {
  readonly year: number
  readonly month: number
  readonly day: number
  /** What the clock on the wall shows, as if it hung in Greenwich. */
  readonly asUtcMs: number
}

const wall = (ms: number, zone: string | undefined): Wall => {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  const [year, month, day] = [part('year'), part('month') - 1, part('day')]
  return { year, month, day, asUtcMs: Date.UTC(year, month, day, part('hour'), part('minute'), part('second')) }
}

// The offset at the guess may lie on the other side of a change of clocks, so it is taken twice.
const instant = (wallAsUtcMs: number, zone: string | undefined): number => {
  const offset = (ms: number): number => wall(ms, zone).asUtcMs - Math.floor(ms / 1000) * 1000
  const guess = wallAsUtcMs - offset(wallAsUtcMs)
  return wallAsUtcMs - offset(guess)
}
