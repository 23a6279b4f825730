/** `0.4s`, `12s`, `3m 05s`, `2h 04m`: a span of time for people. */
export const showSpan = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes}m ${two(whole % 60)}s` : `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`
}

/** `2026-12-01 14:03:07`: a moment, in the machine's time zone. */
export const showMoment = (ms: number): string => {
  const at = new Date(ms)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

const two = (count: number): string => String(count).padStart(2, '0')
