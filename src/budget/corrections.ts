import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { type MicroUsd, showSpent } from '../protocol/money.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { balanceOf, rowsOf } from './balances.ts'
import type { Per } from './budget.ts'
import { type TurnRow, turnRowOf, windowsHeldIn } from './turn-row.ts'
import { windowsOf } from './windows.ts'

/**
 * Begins the current window of a budget anew: nothing spent, nothing added. What is held stays held, and the rows of the
 * turns stay as they are.
 */
export const resetBudget = (
  store: Store,
  nowMs: number,
  { scope, per }: { readonly scope: string; readonly per: Per },
): TE.TaskEither<Failure, void> =>
  store.write(sql => {
    const window = windowsOf(nowMs)[per]
    const { spentMicroUsd, creditMicroUsd, tokens, turns } = balanceOf(sql, scope, window)
    sql.run(
      `UPDATE balances SET spentMicroUsd = 0, creditMicroUsd = 0, tokens = 0, turns = 0, unknownTurns = 0
       WHERE scope = ? AND window = ?`,
      scope,
      window,
    )
    const note = `spent ${showSpent(spentMicroUsd)}, added ${showSpent(creditMicroUsd)}`
    record(sql, { scope, window, kind: 'reset', microUsd: spentMicroUsd, tokens, turns, note }, nowMs)
  })

/** What was given back for a turn. */
export interface Forgiven {
  readonly turn: string
  readonly instance: string
  readonly microUsd: MicroUsd
  readonly tokens: number
}

/**
 * Gives back what a turn was charged beyond what it was seen to spend, where nobody can tell what it cost. Once, and not in
 * a window that was begun anew since. Left: `invalid_request` where there is nothing to give back.
 */
export const forgiveTurn = (store: Store, nowMs: number, turn: string): TE.TaskEither<Failure, Forgiven> =>
  pipe(
    store.write(sql => forgive(sql, nowMs, turn)),
    TE.chainEitherK(decision => decision),
  )

const forgive = (sql: Sql, nowMs: number, turn: string): E.Either<Failure, Forgiven> => {
  const row = turnRowOf(sql, turn)
  const windows = row && windowsHeldIn(row)
  if (row?.state !== 'done' || windows === undefined)
    return nothing(`Turn ${turn} has not ended, so it was charged nothing yet.`)
  if (row.basis !== 'unknown')
    return nothing(`What turn ${turn} cost is known (${row.basis}), so there is nothing to forgive.`)
  if (sql.one(turnRow, `SELECT turn FROM credits WHERE kind = 'forgive' AND turn = ? LIMIT 1`, turn) !== undefined)
    return nothing(`Turn ${turn} was forgiven already.`)
  const microUsd = Math.max(0, (row.costMicroUsd ?? 0) - row.seenMicroUsd)
  const tokens = Math.max(0, row.tokens - row.seenTokens)
  const rows = rowsOf(row, windows).filter(([scope, window]) => !wasResetAfter(sql, scope, window, row))
  if (rows.length === 0) return nothing(`The budgets of turn ${turn} were reset since, so there is nothing to forgive.`)
  for (const [scope, window] of rows) {
    sql.run(
      `UPDATE balances SET
         spentMicroUsd = spentMicroUsd - ?, tokens = tokens - ?, unknownTurns = max(0, unknownTurns - 1)
       WHERE scope = ? AND window = ?`,
      microUsd,
      tokens,
      scope,
      window,
    )
    record(sql, { scope, window, kind: 'forgive', microUsd, tokens, turns: 0, turn }, nowMs)
  }
  return E.right({ turn, instance: row.instance, microUsd, tokens })
}

const wasResetAfter = (sql: Sql, scope: string, window: string, { creditsBefore = 0 }: TurnRow): boolean =>
  sql.one(
    numberRow,
    `SELECT number FROM credits WHERE kind = 'reset' AND scope = ? AND window = ? AND number > ? LIMIT 1`,
    scope,
    window,
    creditsBefore,
  ) !== undefined

interface Correction {
  readonly scope: string
  readonly window: string
  readonly kind: 'reset' | 'forgive'
  /** What was given back. */
  readonly microUsd: MicroUsd
  readonly tokens: number
  readonly turns: number
  readonly turn?: string
  readonly note?: string
}

const record = (sql: Sql, { scope, window, kind, microUsd, tokens, turns, turn, note }: Correction, nowMs: number) =>
  sql.run(
    `INSERT INTO credits (scope, window, kind, microUsd, tokens, turns, turn, note, createdAtMs)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[scope, window, kind, -microUsd, -tokens, -turns],
    ...[turn ?? null, note ?? null, nowMs],
  )

const nothing = (why: string): E.Either<Failure, never> => E.left(failure('invalid_request', why))

const turnRow = t.type({ turn: textColumn })
const numberRow = t.type({ number: countColumn })
