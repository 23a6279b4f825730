import * as t from 'io-ts/lib/index.js'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'

const keptForMs = 24 * 60 * 60 * 1000
const answerLimitBytes = 256 * 1024

/** Keeps an answer for a day, and forgets those that are older. */
export const keepAnswer = (sql: Sql, turn: string, answer: string | undefined, nowMs: number): void => {
  sql.run('DELETE FROM answers WHERE createdAtMs <= ?', nowMs - keptForMs)
  if (answer === undefined) return
  sql.run('INSERT INTO answers (turn, text, createdAtMs) VALUES (?, ?, ?)', turn, cutToLimit(answer), nowMs)
}

export const answerOf = (sql: Sql, turn: string, nowMs: number): string | undefined =>
  sql.one(
    t.type({ text: textColumn }),
    'SELECT text FROM answers WHERE turn = ? AND createdAtMs > ?',
    turn,
    nowMs - keptForMs,
  )?.text

// The cut falls before a character that does not fit whole. SQLite would end a text at a NUL.
const cutToLimit = (answer: string): string => {
  const bytes = Buffer.from(answer.replaceAll('\0', '\uFFFD'))
  let end = answerLimitBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end).toString()
}
