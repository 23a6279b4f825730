import type * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import type { Failure } from '../protocol/failure.ts'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import type { OpenTurn } from './ledger.ts'
import { openTurnsOf } from './left-open.ts'
import { freeKeysOf } from './requests.ts'
import { settleTurn } from './settle.ts'
import { turnRowOf } from './turn-row.ts'

/** What hosts that are gone left open. Their talks that waited are dropped: nobody waits for the answer. */
export const abandonedTurns = (sql: Sql, owners: readonly string[]): readonly OpenTurn[] => {
  const among = JSON.stringify(owners)
  sql.run(`DELETE FROM turns WHERE state = 'waiting' AND owner IN (SELECT value FROM json_each(?))`, among)
  freeKeysOf(sql, among)
  return openTurnsOf(sql, owners)
}

/** Settles them as cut: at their hold, or at what had been seen if that is more. To be called in a transaction. */
export const settleAbandonedTurns = (sql: Sql, turns: readonly string[], nowMs: number): void => {
  for (const turn of turns) {
    const row = turnRowOf(sql, turn)
    if (row?.state !== 'running' && row?.state !== 'ending') continue
    settleTurn(
      sql,
      {
        turn,
        cost: { microUsd: row.seenMicroUsd, basis: 'unknown' },
        tokens: row.seenTokens,
        outcome: 'cancelled',
        error: 'The process that hosted this turn ended in the middle of it.',
      },
      nowMs,
    )
  }
}

/** Hosts that have turns open or waiting; one that no registry knows any more can be told from the living by this. */
export const ownersOfOpenTurns = (store: Store): TE.TaskEither<Failure, readonly string[]> =>
  store.read(sql =>
    sql
      .all(t.type({ owner: textColumn }), `SELECT DISTINCT owner FROM turns WHERE state <> 'done'`)
      .map(({ owner }) => owner),
  )
