import * as t from 'io-ts/lib/index.js'
import { countColumn, integerColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import { Damage } from '../store/store-failure.ts'
import type { Allowance, Limits } from './budget.ts'
import { type Balance, type Charge, everyInstance, type Scope, scopeOfRoot } from './rules.ts'
import type { Windows } from './windows.ts'

/** Whose money a turn is: its instance's, and, where `limits.root` is set, that of its piece of work. */
export interface Charged {
  readonly instance: string
  readonly root: string
  readonly limits: Limits
}

/** The budgets that bear on a turn, as they stand: its instance's first, then that of all together, then its root's. */
export const scopesOf = (sql: Sql, { instance, root, limits }: Charged, windows: Windows): readonly Scope[] => {
  const scopes: Scope[] = []
  const bearing = [
    [instance, limits.budget],
    [everyInstance, limits.total],
    [scopeOfRoot(root), limits.root],
  ] as const
  for (const [name, budget] of bearing) {
    if (budget === undefined) continue
    const window = windows[budget.per]
    scopes.push({ instance: name, budget, window, balance: balanceOf(sql, name, window) })
  }
  return scopes
}

/** A scope that spent nothing yet has no row. */
export const balanceOf = (sql: Sql, scope: string, window: string): Balance =>
  sql.one(balance, selectBalance, scope, window) ?? nothing

/** Sets aside for one turn, wherever it is counted. */
export const addHold = (sql: Sql, charged: Charged, windows: Windows, hold: Allowance): void => {
  for (const [scope, window] of rowsOf(charged, windows))
    sql.run(insertHold, scope, window, hold.microUsd ?? 0, hold.tokens ?? 0)
}

/** Replaces a hold by what was charged, in the windows that it was held in. */
export const replaceHold = (sql: Sql, charged: Charged, windows: Windows, hold: Allowance, charge: Charge): void => {
  for (const [scope, window] of rowsOf(charged, windows)) {
    const changed = sql.run(
      updateCharge,
      hold.microUsd ?? 0,
      charge.microUsd,
      hold.tokens ?? 0,
      charge.tokens,
      charge.basis === 'unknown' ? 1 : 0,
      scope,
      window,
    )
    if (changed !== 1) throw new Damage(`the balance of ${scope} for ${window} is gone`)
  }
}

/** Where a turn is counted: a piece of work has no days and months. */
export const rowsOf = (
  { instance, root, limits }: Charged,
  windows: Windows,
): readonly (readonly [scope: string, window: string])[] => [
  ...[instance, everyInstance].flatMap(scope =>
    [windows.total, windows.month, windows.day].map(window => [scope, window] as const),
  ),
  ...(limits.root === undefined ? [] : [[scopeOfRoot(root), windows.total] as const]),
]

const nothing: Balance = {
  spentMicroUsd: 0,
  heldMicroUsd: 0,
  creditMicroUsd: 0,
  tokens: 0,
  heldTokens: 0,
  turns: 0,
  heldTurns: 0,
  unknownTurns: 0,
}

const balance = t.type({
  spentMicroUsd: countColumn,
  heldMicroUsd: countColumn,
  creditMicroUsd: integerColumn,
  tokens: countColumn,
  heldTokens: countColumn,
  turns: countColumn,
  heldTurns: countColumn,
  unknownTurns: countColumn,
})

const selectBalance = `SELECT ${Object.keys(nothing).join(', ')} FROM balances WHERE scope = ? AND window = ?`

const insertHold = `
  INSERT INTO balances (scope, window, heldMicroUsd, heldTokens, heldTurns) VALUES (?, ?, ?, ?, 1)
  ON CONFLICT (scope, window) DO UPDATE SET
    heldMicroUsd = heldMicroUsd + excluded.heldMicroUsd,
    heldTokens = heldTokens + excluded.heldTokens,
    heldTurns = heldTurns + 1`

const updateCharge = `
  UPDATE balances SET
    heldMicroUsd = heldMicroUsd - ?, spentMicroUsd = spentMicroUsd + ?,
    heldTokens = heldTokens - ?, tokens = tokens + ?,
    heldTurns = heldTurns - 1, turns = turns + 1,
    unknownTurns = unknownTurns + ?
  WHERE scope = ? AND window = ?`
