import * as t from 'io-ts/lib/index.js'
import type { ProcessId } from '../process/process-id.ts'
import { isTurnCost, isTurnTokens } from '../protocol/money.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { ProvedTurn } from './ledger.ts'

// What is noted of a turn between its hold and its settle. After the settle, nothing of this changes it any more.

export const leaveLine = (sql: Sql, turn: string): void => {
  sql.run(`DELETE FROM turns WHERE turn = ? AND state = 'waiting'`, turn)
}

export const noteStarted = (
  sql: Sql,
  turn: string,
  { pid, startTime }: Pick<ProcessId, 'pid' | 'startTime'>,
  nowMs: number,
): void => {
  sql.run(
    `UPDATE turns SET pid = ?, startTime = ?, startedAtMs = ? WHERE turn = ? AND state IN ('running', 'ending')`,
    pid,
    startTime,
    nowMs,
    turn,
  )
}

/** What was seen only grows; a number that is none is not noted. */
export const noteSeen = (sql: Sql, turn: string, microUsd: number, tokens: number): void => {
  sql.run(
    `UPDATE turns SET seenMicroUsd = max(seenMicroUsd, ?), seenTokens = max(seenTokens, ?)
     WHERE turn = ? AND state IN ('running', 'ending')`,
    isTurnCost(microUsd) ? microUsd : 0,
    isTurnTokens(tokens) ? tokens : 0,
    turn,
  )
}

export const noteEnding = (sql: Sql, turn: string): void => {
  sql.run(`UPDATE turns SET state = 'ending' WHERE turn = ? AND state = 'running'`, turn)
}

/** Asks the process that has it to end it, on somebody's behalf. */
export const askToEnd = (sql: Sql, turn: string, by: string): void => {
  sql.run(`UPDATE turns SET endAskedBy = ? WHERE turn = ? AND state <> 'done'`, by, turn)
}

/** Turns of this owner that others want ended. */
export const askedToEnd = (sql: Sql, owner: string): readonly AskedToEnd[] =>
  sql.all(
    asked,
    `SELECT turn, endAskedBy AS "by" FROM turns WHERE state <> 'done' AND owner = ? AND endAskedBy IS NOT NULL`,
    owner,
  )

const asked = t.type({ turn: textColumn, by: textColumn })
type AskedToEnd = t.TypeOf<typeof asked>

// One that is over must have been settled by then; whoever did not is stuck, and holds nobody up.
const settledWithinMs = 60_000

export const countOpen = (
  sql: Sql,
  owners: readonly string[],
  instance: string,
  queueTimeoutMs: number,
  nowMs: number,
): number =>
  sql.one(
    t.type({ turns: countColumn }),
    `SELECT count(*) AS turns FROM turns
     WHERE instance = ? AND state <> 'done' AND owner IN (SELECT value FROM json_each(?))
       AND coalesce(deadlineAtMs, createdAtMs + ?) > ?`,
    ...[instance, JSON.stringify(owners), queueTimeoutMs, nowMs - settledWithinMs],
  )?.turns ?? 0

export const turnOfToken = (sql: Sql, tokenDigest: string): ProvedTurn | undefined =>
  sql.one(
    provedTurn,
    `SELECT turn, root, instance, depth, owner, deadlineAtMs FROM turns WHERE tokenDigest = ? AND state = 'running'`,
    tokenDigest,
  )

export const unfinishedChildren = (sql: Sql, parent: string): readonly string[] =>
  sql
    .all(
      t.type({ turn: textColumn }),
      `SELECT turn FROM turns WHERE parent = ? AND state <> 'done' ORDER BY number`,
      parent,
    )
    .map(({ turn }) => turn)

const provedTurn = t.intersection([
  t.type({ turn: textColumn, root: textColumn, instance: textColumn, depth: countColumn, owner: textColumn }),
  t.partial({ deadlineAtMs: countColumn }),
])
