/** Integer millionths of a US dollar. The only form of money inside the house. */
export type MicroUsd = number

/** The most that one turn may be said to cost, $10,000. More is taken for a mistake of the one who said it. */
export const maxTurnMicroUsd: MicroUsd = 10_000_000_000

/** The same for tokens. Sums of larger ones could leave the safe integers, and then no ledger could read them. */
export const maxTurnTokens = 10_000_000_000

export const isTurnCost = (microUsd: MicroUsd): boolean => isCount(microUsd, maxTurnMicroUsd)

export const isTurnTokens = (tokens: number): boolean => isCount(tokens, maxTurnTokens)

const isCount = (count: number, most: number): boolean => Number.isSafeInteger(count) && count >= 0 && count <= most

const microPerUsd = 1_000_000

// 0.07 * 1e6 is 70000.00000000001: what lies below a millionth of a micro-dollar is the float's, not the provider's.
const ceilToMicro = (usd: number): MicroUsd => Math.ceil(Number((usd * microPerUsd).toFixed(6))) + 0

/**
 * Dollars as some program said them, rounded up to the next micro-dollar.
 * NaN, infinities, negatives, other types and anything over $10,000 are not numbers that we can charge: `unknown`.
 */
export const microUsdFrom = (usd: unknown): MicroUsd | 'unknown' => {
  if (typeof usd !== 'number' || !Number.isFinite(usd) || usd < 0) return 'unknown'
  const micro = ceilToMicro(usd)
  return micro <= maxTurnMicroUsd ? micro : 'unknown'
}

/** A limit that a person wrote, in dollars; finite and not negative (the codec of budgets.json sees to that). */
export const limitMicroUsd = (usd: number): MicroUsd => Math.floor(Number((usd * microPerUsd).toFixed(6)))

export const usdFrom = (micro: MicroUsd): number => micro / microPerUsd

/** `$1.2000`: what was spent, to four places (more where they are needed). */
export const showSpent = (micro: MicroUsd): string => show(micro, 4)

/** `$1.00`: a limit, to two places (more where they are needed). */
export const showLimit = (micro: MicroUsd): string => show(micro, 2)

const show = (micro: MicroUsd, places: number): string => {
  const sign = micro < 0 ? '-' : ''
  const [whole = '0', fraction = ''] = (Math.abs(micro) / microPerUsd).toFixed(6).split('.')
  return `${sign}$${whole}.${fraction.replace(/0+$/, '').padEnd(places, '0')}`
}
