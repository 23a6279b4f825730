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

export const keepSession = (
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

/** The CLI does not know its session any more. */
export const forgetSession = (sql: Sql, { sender, instance, thread }: ThreadKey): void => {
  sql.run('DELETE FROM threads WHERE sender = ? AND instance = ? AND thread = ?', sender, instance, thread)
}

const sessionRow = t.intersection([
  t.type({ session: textColumn }),
  t.partial({ totalMicroUsd: countColumn, totalTokens: countColumn }),
])
