import type { Limits } from '../src/budget/budget.ts'

/** What the program that is killed drives the ledger with. */
export const driven: Limits = { budget: { microUsd: 30_000, per: 'total' }, maxTurnMicroUsd: 10_000 }
