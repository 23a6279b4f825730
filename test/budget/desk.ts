import type { ExecutionContext } from 'ava'
import type { Basis, Budget, Limits } from '../../src/budget/budget.ts'
import type { BudgetState, Entry, Ledger } from '../../src/budget/ledger.ts'
import { createLedger } from '../../src/budget/open-ledger.ts'
import { type Budgeted, budgetStates } from '../../src/budget/states.ts'
import type { Store } from '../../src/store/store.ts'
import { opened, right, testFolder } from '../store/folder.ts'

export const usd = (dollars: number): number => Math.round(dollars * 1_000_000)

export interface Desk {
  readonly folder: string
  readonly store: Store
  readonly ledger: Ledger
  /** What the ledger takes for now. */
  readonly clock: { nowMs: number }
  readonly state: (budgeted: Budgeted) => Promise<BudgetState>
}

/** A ledger on a folder of its own, with a clock that the test sets. */
export const openDesk = async (t: ExecutionContext, folder = testFolder(t)): Promise<Desk> => {
  const store = await opened(t, folder)
  const clock = { nowMs: new Date(2026, 11, 1, 12).getTime() }
  return {
    folder,
    store,
    ledger: createLedger(store, { now: () => clock.nowMs }),
    clock,
    state: budgeted => stateOf(store, clock.nowMs, budgeted),
  }
}

const stateOf = async (store: Store, nowMs: number, budgeted: Budgeted) => {
  const [state] = right(await budgetStates(store, nowMs, [budgeted])())
  if (state === undefined) throw new Error('no state')
  return state
}

export const entry = (turn: string, more: Partial<Entry> = {}): Entry => ({
  turn,
  root: turn,
  instance: 'worker',
  from: 'operator',
  depth: 1,
  engine: 'command',
  owner: 'host',
  tokenDigest: `digest of ${turn}`,
  limits: {},
  maxTurnsPerRoot: 50,
  ...more,
})

/** Of this instance alone, in all. */
export const budget = (own: Omit<Budget, 'per'>, more: Omit<Limits, 'budget'> = {}): Limits => ({
  budget: { ...own, per: 'total' },
  ...more,
})

export const ended = (turn: string, microUsd: number, basis: Basis = 'reported', outcome = 'success', tokens = 0) => ({
  turn,
  cost: { microUsd, basis },
  tokens,
  outcome,
})

/** Runs and settles at once. */
export const charge = async (ledger: Ledger, one: Entry, microUsd: number): Promise<void> => {
  const entered = right(await ledger.enter(one, true)())
  if (entered.state !== 'running') throw new Error(`${one.turn} waits for ${entered.for}`)
  right(await ledger.settle(ended(one.turn, microUsd))())
}
