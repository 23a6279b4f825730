import * as t from 'io-ts/lib/index.js'
import { factsOf } from '../protocol/error-codes.ts'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import { answerOf } from './answers.ts'
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
  /** Its turn waits or runs, in the process of this owner. */
  | { readonly kind: 'open'; readonly turn: string; readonly owner: string }
  /** Its turn is over, and what it was answered with was never written down: its host died. */
  | { readonly kind: 'cut'; readonly turn: string; readonly outcome: string; readonly answer?: string }

/** How long an answer is kept for those who ask again. */
const keptForMs = 24 * 60 * 60 * 1000

/** Gives a key to a turn, or says whose it is. To be called in a transaction. */
export const claimKey = (sql: Sql, { turn, owner, ...keyed }: Keyed, nowMs: number): Claimed => {
  sql.run('DELETE FROM requests WHERE createdAtMs <= ? AND envelope IS NOT NULL', nowMs - keptForMs)
  const { sender, instance, key, bodyDigest } = keyed
  const found = sql.one(requestRow, select, sender, instance, key)
  if (found !== undefined && found.bodyDigest !== bodyDigest) return { kind: 'conflict' }
  if (found?.envelope !== undefined) return { kind: 'answered', envelope: found.envelope }
  if (found !== undefined && !mayRunAnew(found)) {
    const { outcome = '' } = found
    if (found.state !== 'done') return { kind: 'open', turn: found.turn, owner: found.owner }
    const answer = answerOf(sql, found.turn, nowMs)
    return { kind: 'cut', turn: found.turn, outcome, ...(answer === undefined ? {} : { answer }) }
  }
  sql.run(
    `INSERT INTO requests (sender, instance, key, bodyDigest, turn, owner, createdAtMs) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (sender, instance, key) DO UPDATE SET turn = excluded.turn, owner = excluded.owner`,
    ...[sender, instance, key, bodyDigest, turn, owner, nowMs],
  )
  return { kind: 'new' }
}

/** Keeps what a keyed turn was answered with, or sets its key free: then the same request runs anew. */
export const closeKey = (sql: Sql, turn: string, envelope: string | undefined): void => {
  if (envelope === undefined) sql.run('DELETE FROM requests WHERE turn = ?', turn)
  else sql.run('UPDATE requests SET envelope = ? WHERE turn = ?', envelope, turn)
}

/** Keys of dead owners whose talks never became turns: nothing ran, so they are free. */
export const freeKeysOf = (sql: Sql, owners: string): void => {
  sql.run(
    `DELETE FROM requests WHERE envelope IS NULL AND owner IN (SELECT value FROM json_each(?))
       AND turn NOT IN (SELECT turn FROM turns)`,
    owners,
  )
}

// Its host died after the turn had failed in a way that trying again may help.
const mayRunAnew = ({ state, outcome = 'success' }: RequestRow): boolean =>
  state === 'done' && outcome !== 'success' && factsOf(outcome).retryable

const select = `
  SELECT requests.bodyDigest, requests.turn, requests.owner, requests.envelope, turns.state, turns.outcome
  FROM requests LEFT JOIN turns ON turns.turn = requests.turn
  WHERE requests.sender = ? AND requests.instance = ? AND requests.key = ?`

const requestRow = t.intersection([
  t.type({ bodyDigest: textColumn, turn: textColumn, owner: textColumn }),
  t.partial({ envelope: textColumn, state: stateColumn, outcome: textColumn }),
])
type RequestRow = t.TypeOf<typeof requestRow>
