import * as t from 'io-ts/lib/index.js'
import type { Failure } from '../protocol/failure.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Per } from './budget.ts'
import type { Entry } from './ledger.ts'
import { type Dimension, everyInstance, type Measure, rootOfScope } from './rules.ts'
import { threadWaitsForItself, waitsForItself } from './sentences.ts'

/** The slot of an entry: it has one, there is one but others in line come first, or there is none. */
export type Slot = 'mine' | 'others first' | 'taken'

/** What an entry waits for. */
export interface Wanting {
  readonly slot: Slot
  /** The turn that its thread is on with. */
  readonly leader: string | undefined
  readonly scarce: readonly Measure[]
}

/**
 * Why an entry may not wait; undefined when it may. One from outside always may. One that a turn made may wait for a thing
 * only if a turn that holds it has no unfinished talk of its own: of all the talks that would close a circle, the one that
 * is recorded last sees the others, and is refused. Its own row stands already, so its parent counts as one that waits.
 */
export const waitRefusal = (
  sql: Sql,
  { instance, parent, thread }: Entry,
  { slot, leader, scarce }: Wanting,
): Failure | undefined => {
  if (parent === undefined) return undefined
  if (leader !== undefined && hasOpenChild(sql, leader)) return threadWaitsForItself(instance, thread)
  if (slot === 'taken') {
    const { all, free } = holders(sql, instance, '')
    // No holder: the slot is just changing hands, or waits for money, which is looked at below.
    if (all > 0 && free === 0) return waitsForItself(instance, undefined)
  }
  const stuck = scarce.find(({ scope, dimension }) => {
    const inWindow = scope.budget.per === 'total' ? [] : [scope.window]
    return holders(sql, scope.instance, holding[dimension] + within[scope.budget.per], ...inWindow).free === 0
  })
  return stuck && waitsForItself(instance, stuck)
}

const hasOpenChild = (sql: Sql, turn: string): boolean =>
  sql.one(t.type({ turn: textColumn }), `SELECT turn FROM turns WHERE parent = ? AND state <> 'done' LIMIT 1`, turn) !==
  undefined

const holding: Readonly<Record<Dimension, string>> = {
  microUsd: ' AND holder.heldMicroUsd > 0',
  tokens: ' AND holder.heldTokens > 0',
  turns: '',
}

const within: Readonly<Record<Per, string>> = {
  total: '',
  month: ' AND holder.month = ?',
  day: ' AND holder.day = ?',
}

const counts = t.type({ all: countColumn, free: countColumn })

const holders = (sql: Sql, scope: string, condition: string, ...values: readonly string[]): t.TypeOf<typeof counts> => {
  const root = rootOfScope(scope)
  const ofScope = scope === everyInstance ? '' : ` AND holder.${root === undefined ? 'instance' : 'root'} = ?`
  const found = sql.one(
    counts,
    `SELECT count(*) AS "all", count(*) FILTER (WHERE NOT EXISTS
       (SELECT 1 FROM turns AS child WHERE child.parent = holder.turn AND child.state <> 'done')) AS free
     FROM turns AS holder
     WHERE holder.state <> 'done' AND holder.state <> 'waiting'${ofScope}${condition}`,
    ...(scope === everyInstance ? [] : [root ?? scope]),
    ...values,
  )
  return found ?? { all: 0, free: 0 }
}
