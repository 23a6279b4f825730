import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { isTurnCost } from '../protocol/money.ts'
import type { Sql } from '../store/sql.ts'
import { keepAnswer } from './answers.ts'
import { replaceHold, scopesOf } from './balances.ts'
import type { Ended, Keeps, Settled } from './ledger.ts'
import { closeKey } from './requests.ts'
import { type Charge, chargeOf, fullest } from './rules.ts'
import { nearlyExhausted } from './sentences.ts'
import { endOnThread } from './threads.ts'
import { heldBy, type TurnRow, turnRowOf, windowsHeldIn } from './turn-row.ts'
import { windowsOf } from './windows.ts'

/** Replaces the hold of a turn by what it cost; once. To be called in a transaction. */
export const settleTurn = (sql: Sql, ended: Ended, nowMs: number, keeps?: Keeps): E.Either<Failure, Settled> => {
  const row = turnRowOf(sql, ended.turn)
  const windows = row && windowsHeldIn(row)
  if (row === undefined || windows === undefined)
    return E.left(failure('internal_error', `Turn ${ended.turn} never ran, so nothing can be charged for it.`))
  if (row.state === 'done') return E.right(settled(sql, row, row.costMicroUsd ?? 0, row.basis ?? 'unknown', nowMs))

  const held = heldBy(row)
  const charge = chargeOf({
    limits: row.limits,
    held,
    cost: ended.cost,
    tokens: ended.tokens,
    seenMicroUsd: row.seenMicroUsd,
    seenTokens: row.seenTokens,
    succeeded: ended.outcome === 'success',
  })
  replaceHold(sql, row, windows, held, charge)
  closeRow(sql, ended, charge, nowMs)
  keepAnswer(sql, ended.turn, ended.answer, nowMs)
  if (ended.threadEnd !== undefined) endOnThread(sql, ended.turn, ended.threadEnd, nowMs)
  const result = settled(sql, row, charge.microUsd, charge.basis, nowMs)
  if (keeps !== undefined) closeKey(sql, ended.turn, keeps(result), nowMs)
  return E.right(result)
}

const closeRow = (sql: Sql, ended: Ended, charge: Charge, nowMs: number): void => {
  const seen = ended.cost.microUsd
  sql.run(
    `UPDATE turns SET
       state = 'done', endedAtMs = ?, outcome = ?, error = ?, costMicroUsd = ?, basis = ?, tokens = ?,
       creditsBefore = (SELECT coalesce(max(number), 0) FROM credits),
       seenMicroUsd = max(seenMicroUsd, ?), model = coalesce(?, model), session = ?
     WHERE turn = ?`,
    nowMs,
    ended.outcome,
    ended.error ?? null,
    charge.microUsd,
    charge.basis,
    charge.tokens,
    isTurnCost(seen) ? seen : 0,
    ended.model ?? null,
    ended.session ?? null,
    ended.turn,
  )
}

const settled = (sql: Sql, row: TurnRow, microUsd: number, basis: Settled['basis'], nowMs: number): Settled => {
  const full = fullest(scopesOf(sql, row, windowsOf(nowMs)))
  return { microUsd, basis, ...(full ? { warning: nearlyExhausted(full) } : {}) }
}
