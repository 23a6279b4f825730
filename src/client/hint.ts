/** `Retry-After` as milliseconds from now: seconds or an HTTP date; `undefined` where it is neither. */
export const hintOf = (retryAfter: string | undefined, nowMs: number): number | undefined => {
  if (retryAfter === undefined) return undefined
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * 1000
  const dateMs = Date.parse(retryAfter)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}
