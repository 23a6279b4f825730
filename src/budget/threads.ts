import * as t from 'io-ts/lib/index.js'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'

/** A conversation: of one sender with one instance, by a name that the sender gave. */
export interface ThreadKey {
  readonly sender: string
  readonly instance: string
  readonly thread: string
}

/** The provider's session that it goes on with, and what that had come to, where the CLI tells running totals. */
export interface ThreadSession {
  readonly session: string
  readonly totalMicroUsd?: number
  readonly totalTokens?: number
}

/** None for a thread that is new, was lost, or was led by another engine. */
export const sessionOf = (
  sql: Sql,
  { sender, instance, thread }: ThreadKey,
  engine: string,
): ThreadSession | undefined =>
  sql.one(
    sessionRow,
    `SELECT session, totalMicroUsd, totalTokens FROM threads
     WHERE sender = ? AND instance = ? AND thread = ? AND engine = ?`,
    ...[sender, instance, thread, engine],
  )

const keepSession = (
  sql: Sql,
  { sender, instance, thread }: ThreadKey,
  engine: string,
  { session, totalMicroUsd, totalTokens }: ThreadSession,
  nowMs: number,
): void => {
  sql.run(
    `INSERT INTO threads (sender, instance, thread, engine, session, totalMicroUsd, totalTokens, updatedAtMs)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (sender, instance, thread) DO UPDATE SET
       engine = excluded.engine, session = excluded.session, totalMicroUsd = excluded.totalMicroUsd,
       totalTokens = excluded.totalTokens, updatedAtMs = excluded.updatedAtMs`,
    ...[sender, instance, thread, engine, session, totalMicroUsd ?? null, totalTokens ?? null, nowMs],
  )
}

const forgetSession = (sql: Sql, { sender, instance, thread }: ThreadKey): void => {
  sql.run('DELETE FROM threads WHERE sender = ? AND instance = ? AND thread = ?', sender, instance, thread)
}

/** The turn that goes on with it now; the next one waits for that. */
export const leaderOf = (sql: Sql, { sender, instance, thread }: ThreadKey): string | undefined =>
  sql.one(
    t.type({ turn: textColumn }),
    `SELECT turn FROM turns WHERE instance = ? AND sender = ? AND thread = ? AND state IN ('running', 'ending') LIMIT 1`,
    ...[instance, sender, thread],
  )?.turn

/** What a turn that ends leaves to its thread: where to go on from, or that nothing is there any more. */
export type ThreadEnd = ThreadSession | 'lost'

/** To be called in the transaction that settles the turn. */
export const endOnThread = (sql: Sql, turn: string, end: ThreadEnd, nowMs: number): void => {
  const row = sql.one(
    keyRow,
    'SELECT sender, instance, thread, engine FROM turns WHERE turn = ? AND thread IS NOT NULL',
    turn,
  )
  if (row === undefined) return
  if (end === 'lost' || isOthers(sql, row, end.session)) forgetSession(sql, row)
  else keepSession(sql, row, row.engine, end, nowMs)
}

// Some CLIs take up another session by themselves; two threads never share one.
const isOthers = (sql: Sql, { sender, instance, thread }: ThreadKey, session: string): boolean =>
  sql.one(
    t.type({ thread: textColumn }),
    `SELECT thread FROM threads WHERE session = ? AND (sender <> ? OR instance <> ? OR thread <> ?) LIMIT 1`,
    ...[session, sender, instance, thread],
  ) !== undefined

const keyRow = t.type({ sender: textColumn, instance: textColumn, thread: textColumn, engine: textColumn })

const sessionRow = t.intersection([
  t.type({ session: textColumn }),
  t.partial({ totalMicroUsd: countColumn, totalTokens: countColumn }),
])
