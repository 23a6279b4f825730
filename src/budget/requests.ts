import * as t from 'io-ts/lib/index.js'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'

/** A request that its sender can repeat without running twice: who sent it to whom, under which key, saying what. */
export interface Keyed {
  readonly sender: string
  readonly instance: string
  readonly key: string
  /** SHA-256 of what was asked, as hex. */
  readonly bodyDigest: string
}

/** What a key stands for. */
export type Claimed =
  /** It is this turn's from now on. */
  | { readonly kind: 'new' }
  /** Another body came under it before. */
  | { readonly kind: 'conflict' }
  /** Answered before, with this JSON. */
  | { readonly kind: 'answered'; readonly envelope: string }
  /** Its turn waits or runs. */
  | { readonly kind: 'open'; readonly turn: string }
  /** Its turn is over, and its answer was never written down: its host died. */
  | { readonly kind: 'lost'; readonly turn: string }

/** How long an answer is kept for those who ask again. */
const keptMs = 24 * 60 * 60 * 1000

/** Gives a key to a turn, or says whose it is. To be called in a transaction. */
export const claimKey = (
  sql: Sql,
  { sender, instance, key, bodyDigest }: Keyed,
  turn: string,
  nowMs: number,
): Claimed => {
  sql.run('DELETE FROM requests WHERE createdAtMs < ? AND envelope IS NOT NULL', nowMs - keptMs)
  const found = sql.one(
    requestRow,
    'SELECT bodyDigest, turn, envelope FROM requests WHERE sender = ? AND instance = ? AND key = ?',
    sender,
    instance,
    key,
  )
  if (found !== undefined) {
    if (found.bodyDigest !== bodyDigest) return { kind: 'conflict' }
    if (found.envelope !== undefined) return { kind: 'answered', envelope: found.envelope }
    const row = sql.one(stateRow, 'SELECT state FROM turns WHERE turn = ?', found.turn)
    if (row?.state === 'done') return { kind: 'lost', turn: found.turn }
    if (row !== undefined) return { kind: 'open', turn: found.turn }
    // It never became a turn: its host died while it waited.
    sql.run('DELETE FROM requests WHERE turn = ?', found.turn)
  }
  sql.run(
    'INSERT INTO requests (sender, instance, key, bodyDigest, turn, createdAtMs) VALUES (?, ?, ?, ?, ?, ?)',
    ...[sender, instance, key, bodyDigest, turn, nowMs],
  )
  return { kind: 'new' }
}

/** Keeps what a keyed turn was answered with, or sets its key free: then the same request runs anew. */
export const closeKey = (sql: Sql, turn: string, envelope: string | undefined): void => {
  if (envelope === undefined) sql.run('DELETE FROM requests WHERE turn = ?', turn)
  else sql.run('UPDATE requests SET envelope = ? WHERE turn = ?', envelope, turn)
}

const requestRow = t.intersection([
  t.type({ bodyDigest: textColumn, turn: textColumn }),
  t.partial({ envelope: textColumn }),
])
const stateRow = t.type({ state: textColumn })
