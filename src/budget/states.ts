import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import type { Store } from '../store/store.ts'
import { balanceOf } from './balances.ts'
import type { Budget } from './budget.ts'
import type { BudgetState } from './ledger.ts'
import { fullest, measuresOf, type Scope } from './rules.ts'
import { nearlyExhausted } from './sentences.ts'
import { windowsOf } from './windows.ts'

/** An instance (or `*`) and the budget that the file gives it, if any; without one, all that it ever spent is told. */
export interface Budgeted {
  readonly instance: string
  readonly budget?: Budget
}

/** How budgets stand now. */
export const budgetStates = (
  store: Store,
  nowMs: number,
  budgets: readonly Budgeted[],
): TE.TaskEither<Failure, readonly BudgetState[]> =>
  store.read(sql => {
    const windows = windowsOf(nowMs)
    return budgets.map(({ instance, budget = { per: 'total' } }) => {
      const window = windows[budget.per]
      return stateOf({ instance, budget, window, balance: balanceOf(sql, instance, window) })
    })
  })

const limitName = { microUsd: 'limitMicroUsd', tokens: 'limitTokens', turns: 'limitTurns' } as const

const stateOf = (scope: Scope): BudgetState => {
  const { instance, budget, window, balance } = scope
  const full = fullest([scope])
  const limits = measuresOf(scope).map(({ dimension, limit }) => [limitName[dimension], limit] as const)
  return {
    instance,
    per: budget.per,
    window,
    spentMicroUsd: balance.spentMicroUsd,
    heldMicroUsd: balance.heldMicroUsd,
    tokens: balance.tokens,
    turns: balance.turns,
    unknownTurns: balance.unknownTurns,
    ...Object.fromEntries(limits),
    ...(full === undefined ? {} : { warning: nearlyExhausted(full) }),
  }
}
