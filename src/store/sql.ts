import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts/lib/index.js'
import { decode, sayMismatch } from '../protocol/decode.ts'
import { Damage } from './store-failure.ts'

/** Questions to the file. A row comes in through its codec, with NULL columns left out. */
export interface Sql {
  readonly one: <A>(row: t.Decoder<unknown, A>, sql: string, ...values: readonly SQLInputValue[]) => A | undefined
  readonly all: <A>(row: t.Decoder<unknown, A>, sql: string, ...values: readonly SQLInputValue[]) => readonly A[]
  /** The number of rows that it changed. */
  readonly run: (sql: string, ...values: readonly SQLInputValue[]) => number
}

/** Statements are prepared once, on their first use. */
export const sqlOf = (db: DatabaseSync): Sql => {
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known) return known
    const statement = db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    one: (row, sql, ...values) => {
      const found = prepared(sql).get(...values)
      return found === undefined ? undefined : sound(row, found)
    },
    all: (row, sql, ...values) =>
      prepared(sql)
        .all(...values)
        .map(found => sound(row, found)),
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
  }
}

const sound = <A>(row: t.Decoder<unknown, A>, found: Record<string, unknown>): A => {
  for (const column in found) if (found[column] === null) delete found[column]
  const decoded = decode(row, found)
  if (E.isRight(decoded)) return decoded.right
  throw new Damage(decoded.left.map(sayMismatch).join('; '))
}
