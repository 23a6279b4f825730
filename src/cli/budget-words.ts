import type { BudgetState } from '../budget/ledger.ts'
import { everyInstance } from '../budget/rules.ts'
import { showLimit, showSpent, usdFrom } from '../protocol/money.ts'

/** One budget for programs (`errand budget --json`). */
export const budgetJson = (state: BudgetState) => ({
  instance: state.instance,
  spentUsd: usdFrom(state.spentMicroUsd),
  heldUsd: usdFrom(state.heldMicroUsd),
  limitUsd: state.limitMicroUsd === undefined ? null : usdFrom(state.limitMicroUsd),
  tokens: state.tokens,
  limitTokens: state.limitTokens ?? null,
  turns: state.turns,
  limitTurns: state.limitTurns ?? null,
  unknownTurns: state.unknownTurns,
  per: state.per,
  window: state.window,
})

export const budgetHeadings = ['BUDGET', 'WINDOW', 'SPENT', 'HELD', 'LIMIT', 'LEFT', 'TOKENS', 'TURNS'] as const

/** One budget as a row of a table. */
export const budgetRow = (state: BudgetState): readonly string[] => {
  const { instance, window, spentMicroUsd, heldMicroUsd, limitMicroUsd, tokens, turns, unknownTurns } = state
  const left = limitMicroUsd === undefined ? '-' : showSpent(Math.max(0, limitMicroUsd - spentMicroUsd - heldMicroUsd))
  return [
    instance === everyInstance ? `${everyInstance} (all)` : instance,
    window,
    showSpent(spentMicroUsd),
    showSpent(heldMicroUsd),
    limitMicroUsd === undefined ? '-' : showSpent(limitMicroUsd),
    left,
    ofLimit(tokens, state.limitTokens),
    ofLimit(turns, state.limitTurns) + (unknownTurns > 0 ? ` (${unknownTurns} unknown)` : ''),
  ]
}

/** `$0.0500 of $1.00 (day)`, or what was spent where there is no limit. */
export const spentOf = ({ spentMicroUsd, limitMicroUsd, per }: BudgetState): string =>
  limitMicroUsd === undefined
    ? `${showSpent(spentMicroUsd)} (${per})`
    : `${showSpent(spentMicroUsd)} of ${showLimit(limitMicroUsd)} (${per})`

const ofLimit = (count: number, limit: number | undefined): string =>
  limit === undefined ? String(count) : `${count} of ${limit}`
