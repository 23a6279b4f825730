import * as t from 'io-ts/lib/index.js'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import { stateColumn } from './turn-row.ts'

/** A request that its sender can repeat without running twice: who sent it to whom, under which key, saying what. */
export interface Keyed {
  readonly sender: string
  readonly instance: string
  readonly key: string
  /** SHA-256 of what was asked, as hex. */
  readonly bodyDigest: string
  /** The turn that it begins, where it begins one, and whose process that waits or runs in. */
  readonly turn: string
  readonly owner: string
}

/** What a key stands for. */
export type Claimed =
  /** It is this turn's from now on. */
  | { readonly kind: 'new' }
  /** Another body came under it before. */
  | { readonly kind: 'conflict' }
  /** Answered before, with this JSON. */
  | { readonly kind: 'answered'; readonly envelope: string }
  /** Its turn waits or runs, or what that cost could not be written yet. */
  | { readonly kind: 'open'; readonly turn: string }
  /** Its turn was ended by the death of its host, and never answered. */
  | { readonly kind: 'cut'; readonly turn: string }

/** How long an answer is kept for those who ask again. */
const keptForMs = 24 * 60 * 60 * 1000

/** Gives a key to a turn, or says whose it is. To be called in a transaction. */
export const claimKey = (sql: Sql, { turn, owner, ...keyed }: Keyed, nowMs: number): Claimed => {
  sql.run(forget, nowMs - keptForMs)
  const { sender, instance, key, bodyDigest } = keyed
  const found = sql.one(requestRow, select, sender, instance, key)
  // One of the same host without a turn: it could not be set free.
  if (found === undefined || (found.state === undefined && found.owner === owner)) {
    sql.run(insert, ...[sender, instance, key, bodyDigest, turn, owner, nowMs])
    return { kind: 'new' }
  }
  if (found.bodyDigest !== bodyDigest) return { kind: 'conflict' }
  if (found.envelope !== undefined) return { kind: 'answered', envelope: found.envelope }
  return { kind: found.state === 'done' ? 'cut' : 'open', turn: found.turn }
}

/** Keeps what a keyed turn was answered with, or sets its key free: then the same request runs anew. */
export const closeKey = (sql: Sql, turn: string, envelope: string | undefined, nowMs: number): void => {
  if (envelope === undefined) sql.run('DELETE FROM requests WHERE turn = ?', turn)
  else sql.run('UPDATE requests SET envelope = ?, createdAtMs = ? WHERE turn = ?', envelope, nowMs, turn)
}

/** For a talk that became no turn. */
export const freeKey = (sql: Sql, turn: string): void => {
  sql.run('DELETE FROM requests WHERE turn = ? AND turn NOT IN (SELECT turn FROM turns)', turn)
}

/** Keys of dead owners whose talks never became turns: nothing ran, so they are free. */
export const freeKeysOf = (sql: Sql, owners: string): void => {
  sql.run(
    `DELETE FROM requests WHERE envelope IS NULL AND owner IN (SELECT value FROM json_each(?))
       AND turn NOT IN (SELECT turn FROM turns)`,
    owners,
  )
}

const forget = `DELETE FROM requests WHERE createdAtMs <= ? AND turn NOT IN (SELECT turn FROM turns WHERE state <> 'done')`

const insert = `
  INSERT OR REPLACE INTO requests (sender, instance, key, bodyDigest, turn, owner, createdAtMs)
  VALUES (?, ?, ?, ?, ?, ?, ?)`

const select = `
  SELECT requests.bodyDigest, requests.turn, requests.owner, requests.envelope, turns.state
  FROM requests LEFT JOIN turns ON turns.turn = requests.turn
  WHERE requests.sender = ? AND requests.instance = ? AND requests.key = ?`

const requestRow = t.intersection([
  t.type({ bodyDigest: textColumn, turn: textColumn, owner: textColumn }),
  t.partial({ envelope: textColumn, state: stateColumn }),
])
