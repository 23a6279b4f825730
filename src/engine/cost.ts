import type { Cost } from '../budget/budget.ts'
import { microUsdFrom } from '../protocol/money.ts'
import type { EngineSettings } from './settings.ts'
import type { Spend } from './spend.ts'

/** How a turn ended, as far as its cost depends on it. */
export interface Ending {
  readonly started: boolean
  /** It ended by itself, or its final result was seen: nothing can have been spent that was not told. */
  readonly complete: boolean
  readonly success: boolean
}

/**
 * What a turn cost, and how we know: `reported` by the CLI, `priced` from tokens or by the instance's price per
 * turn, `none`, or `unknown` with what had been seen.
 */
export const costOf = (
  { reported, priced, seenMicroUsd, worked }: Spend,
  { engine, price }: Pick<EngineSettings, 'engine' | 'price'>,
  { started, complete, success }: Ending,
): Cost => {
  if (!started) return nothing
  if (price !== undefined && 'perTurn' in price) {
    const microUsd = microUsdFrom(price.perTurn)
    return microUsd === 'unknown' ? { microUsd: 0, basis: 'unknown' } : { microUsd, basis: 'priced' }
  }
  if (!complete) return { microUsd: seenMicroUsd, basis: 'unknown' }
  if (!worked && (!success || engine.output === 'text')) return nothing
  if (typeof reported === 'number') return { microUsd: reported, basis: 'reported' }
  if (typeof priced === 'number' && (priced > 0 || worked)) return { microUsd: priced, basis: 'priced' }
  return { microUsd: seenMicroUsd, basis: 'unknown' }
}

const nothing: Cost = { microUsd: 0, basis: 'none' }

/** The account that a turn is charged by. */
export interface Account {
  readonly spend: Spend
  /** It tells of every request that was made, so that nothing else was spent even if the turn was cut. */
  readonly whole: boolean
}

/**
 * Of two accounts of one turn, what the CLI printed and what it wrote into its session's log, the one that tells more; never
 * both together. The log is the richer one where it lacks no tokens: it tells each request, and often the model.
 */
export const accountOf = (printed: Spend, logged?: Spend): Account => {
  if (logged === undefined || logged.tokens === 0 || logged.tokens < printed.tokens)
    return { spend: printed, whole: false }
  if (!hasPrice(logged) && hasPrice(printed)) return { spend: printed, whole: false }
  return { spend: { ...logged, ...totalOf(printed) }, whole: !logged.pending && !printed.pending }
}

/** Whether a session's log could tell more than the CLI printed. */
export const wantsLog = ({ reported }: Spend, { complete }: Pick<Ending, 'complete'>): boolean =>
  !complete || typeof reported !== 'number'

const hasPrice = ({ reported, priced }: Spend): boolean => typeof reported === 'number' || typeof priced === 'number'

const totalOf = ({ sessionTotal }: Spend): Pick<Spend, 'sessionTotal'> =>
  sessionTotal === undefined ? {} : { sessionTotal }
