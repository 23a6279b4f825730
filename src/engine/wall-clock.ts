/**
 * In how many milliseconds a clock shows what is told: `resets 2:30am (UTC)`, `resets Jun 9 at 1am (America/Sao_Paulo)`, `try
 * again at Dec 3rd, 2026 9:00 AM`, `resets Monday at 15:00`. Without a zone, the machine's.
 */
export const clockInMs = (text: string, nowMs: number): number | undefined => {
  const told = spelling.exec(text)?.groups ?? {}
  const { hour, minute, half, zone = told['bare'], month: monthName, day, year, weekday } = told
  if (hour === undefined || (half === undefined && minute === undefined) || !isZone(zone)) return undefined
  const now = wall(nowMs, zone)
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const month = monthName === undefined ? undefined : months.indexOf(monthName.toLowerCase())
  if (month === -1) return undefined
  const at = (years: number, days: number): number =>
    instant(
      Date.UTC(now.year + years, month ?? now.month, Number(day ?? now.day) + days, hours, Number(minute ?? 0)),
      zone,
    )
  if (year !== undefined) return at(Number(year) - now.year, 0) - nowMs
  if (weekday !== undefined) return afterwards(at, daysUntil(weekday.toLowerCase(), now), 7, nowMs)
  if (month === undefined) return afterwards(at, 0, 1, nowMs)
  const soonest = at(0, 0) - nowMs
  return soonest > -dayMs ? Math.max(0, soonest) : at(1, 0) - nowMs
}

const dayMs = 24 * 3_600_000

const spelling =
  /\b(?:resets?|again|available)(?: at| on)? (?:(?<month>[a-z]{3})[a-z]* (?<day>\d{1,2})(?:st|nd|rd|th)?,?(?: (?<year>\d{4}),?)?(?: at)? |(?<weekday>mon|tue|wed|thu|fri|sat|sun|tomorrow)[a-z]*,?(?: at)? )?(?<hour>\d{1,2})(?::(?<minute>\d{2}))?(?! ?\d)(?: ?(?<half>[ap])\.?m\b\.?)?(?: \((?<zone>[\w/+-]+)\)| (?<bare>UTC|GMT)\b)?/i

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const daysUntil = (weekday: string, { asUtcMs }: Wall): number =>
  weekday === 'tomorrow' ? 1 : (weekdays.indexOf(weekday) - new Date(asUtcMs).getUTCDay() + 7) % 7

// What was shown already today is shown again.
const afterwards = (
  at: (years: number, days: number) => number,
  days: number,
  later: number,
  nowMs: number,
): number => {
  const soonest = at(0, days) - nowMs
  return soonest > 0 ? soonest : at(0, days + later) - nowMs
}

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
