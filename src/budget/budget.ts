import type { MicroUsd } from '../protocol/money.ts'

/** The span after which a budget starts anew, in the machine's time zone. */
export type Per = 'total' | 'day' | 'month'

/** What may be spent per window; a missing member is no limit, 0 blocks everything. */
export interface Budget {
  readonly microUsd?: MicroUsd
  readonly tokens?: number
  readonly turns?: number
  readonly per: Per
}

/** The limits that bear on one turn. */
export interface Limits {
  /** Of the instance. */
  readonly budget?: Budget
  /** Of all instances together. */
  readonly total?: Budget
  /** Of the piece of work that it belongs to; the ledger fills it in, without a limit where that has none. */
  readonly root?: Budget
  readonly maxTurnMicroUsd?: MicroUsd
  readonly maxTurnTokens?: number
}

/** What one turn may still use; a missing member is no limit. */
export interface Allowance {
  readonly microUsd?: MicroUsd
  readonly tokens?: number
}

/** Where a cost comes from: the CLI said dollars; tokens × a price list; no model work was seen; nobody can tell. */
export type Basis = 'reported' | 'priced' | 'none' | 'unknown'

/** What one turn cost. Under `unknown`, `microUsd` is what had been seen, and the ledger settles at the hold. */
export interface Cost {
  readonly microUsd: MicroUsd
  readonly basis: Basis
}
