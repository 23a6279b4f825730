import type * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import type { Failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { balanceOf, type Charged } from './balances.ts'
import { scopeOfRoot } from './rules.ts'

/** A piece of work: several talks from outside under one root, which may have a budget of its own. */
export interface Root {
  readonly root: string
  /** Without it, what is spent is counted and never refused. */
  readonly limitMicroUsd?: MicroUsd
}

/** Makes it, before its first talk; one that stands already gets another limit, if one is given. */
export const openRoot = (store: Store, { root, limitMicroUsd }: Root, nowMs: number): TE.TaskEither<Failure, void> =>
  store.write(sql => {
    sql.run(
      `INSERT INTO roots (root, limitMicroUsd, createdAtMs) VALUES (?, ?, ?)
       ON CONFLICT (root) DO UPDATE SET limitMicroUsd = coalesce(excluded.limitMicroUsd, limitMicroUsd)`,
      ...[root, limitMicroUsd ?? null, nowMs],
    )
  })

/** How a piece of work stands. */
export interface RootState extends Root {
  readonly spentMicroUsd: MicroUsd
  readonly heldMicroUsd: MicroUsd
}

/** By its id, or by the beginning of it, where that is no other's. */
export const rootState = (store: Store, id: string): TE.TaskEither<Failure, RootState | undefined> =>
  store.read(sql => {
    const roots = sql.all(
      rootRow,
      'SELECT root, limitMicroUsd FROM roots WHERE root >= ? AND root < ? LIMIT 2',
      id,
      `${id}\u{10FFFF}`,
    )
    const found = roots.find(({ root }) => root === id) ?? (roots.length === 1 ? roots[0] : undefined)
    if (found === undefined) return undefined
    const { spentMicroUsd, heldMicroUsd } = balanceOf(sql, scopeOfRoot(found.root), 'total')
    return { ...found, spentMicroUsd, heldMicroUsd }
  })

export const isRoot = (sql: Sql, root: string): boolean => rootOf(sql, root) !== undefined

/** The same with the budget of its piece of work, if it belongs to one. */
export const withRoot = <One extends Charged & { readonly turn: string }>(sql: Sql, one: One): One => {
  // The root of most talks is the talk itself.
  const found = one.root === one.turn ? undefined : rootOf(sql, one.root)
  if (found === undefined) return one
  const { limitMicroUsd: microUsd } = found
  return { ...one, limits: { ...one.limits, root: { per: 'total', ...(microUsd === undefined ? {} : { microUsd }) } } }
}

const rootOf = (sql: Sql, root: string): Root | undefined =>
  sql.one(rootRow, 'SELECT root, limitMicroUsd FROM roots WHERE root = ?', root)

const rootRow = t.intersection([t.type({ root: textColumn }), t.partial({ limitMicroUsd: countColumn })])
