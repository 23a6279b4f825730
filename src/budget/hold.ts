import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { countColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import { addHold, scopesOf } from './balances.ts'
import type { Allowance } from './budget.ts'
import type { Entered, Entry, WaitsFor } from './ledger.ts'
import { isRoot, withRoot } from './roots.ts'
import { judge, type Measure, rootOfScope, type Verdict } from './rules.ts'
import { exhausted, tooManyTurns } from './sentences.ts'
import { leaderOf, sessionOf, type ThreadSession } from './threads.ts'
import { heldBy, stateColumn, turnRowOf } from './turn-row.ts'
import { type Slot, type Wanting, waitRefusal } from './waiting.ts'
import { type Windows, windowsOf } from './windows.ts'

/** Admits a new entry: a row that runs or waits, or a refusal and no row. To be called in a transaction. */
export const enterTurn = (sql: Sql, asking: Entry, slot: Slot, nowMs: number): E.Either<Failure, Entered> => {
  const refusal = parentRefusal(sql, asking) ?? rootRefusal(sql, asking)
  if (refusal) return E.left(refusal)
  const entry = withRoot(sql, asking)
  insertWaiting(sql, entry, nowMs)
  return holdOrDrop(sql, entry, slot, nowMs)
}

/** Tries again for one that waits and has its slot now. To be called in a transaction. */
export const holdTurn = (sql: Sql, entry: Entry, nowMs: number): E.Either<Failure, Entered> => {
  const row = turnRowOf(sql, entry.turn)
  if (row?.state === 'waiting') return holdOrDrop(sql, withRoot(sql, entry), 'mine', nowMs)
  if (row?.state === 'running') {
    const resume = sessionFor(sql, entry)
    return E.right({ state: 'running', allowance: heldBy(row), ...(resume === undefined ? {} : { resume }) })
  }
  return E.left(failure('cancelled', `The talk does not wait for ${entry.instance} any more.`))
}

/** How the budgets stand for this entry; cheap, so that a refusal needs no transaction. */
export const verdictFor = (sql: Sql, entry: Entry, nowMs: number): Verdict => {
  const charged = withRoot(sql, entry)
  return judge(scopesOf(sql, charged, windowsOf(nowMs)), charged.limits)
}

/** What one that waits and has its slot would still have to wait for, as a look without a transaction can tell. */
export const stillWaits = (sql: Sql, entry: Entry, nowMs: number): WaitsFor | undefined => {
  const verdict = verdictFor(sql, entry, nowMs)
  if (verdict.kind === 'exhausted') return undefined
  const wanting = { slot: 'mine', leader: threadLeader(sql, entry), scarce: scarceIn(verdict) } as const
  const waitsFor = whatFor(wanting)
  const may = waitRefusal(sql, entry, wanting) === undefined && isWaiting(sql, entry)
  return may ? waitsFor : undefined
}

const whatFor = ({ slot, leader, scarce }: Wanting): WaitsFor | undefined => {
  if (slot !== 'mine') return 'slot'
  if (leader !== undefined) return 'thread'
  if (scarce.length === 0) return undefined
  return scarce.every(({ scope }) => rootOfScope(scope.instance) !== undefined) ? 'work' : 'money'
}

// A token is good while its turn is running; between its proof and this the turn may have ended.
const parentRefusal = (sql: Sql, { parent }: Entry): Failure | undefined => {
  if (parent === undefined || stateOf(sql, parent) === 'running') return undefined
  return failure('auth_failed', 'The turn that this talk comes from has ended, and its token with it.')
}

const rootRefusal = (sql: Sql, { turn, root, parent, instance, maxTurnsPerRoot }: Entry): Failure | undefined => {
  if (root === turn) return undefined
  if (parent === undefined && !isRoot(sql, root))
    return failure('invalid_request', `There is no piece of work with the root "${root}" in this store.`)
  const turns = sql.one(t.type({ turns: countColumn }), countUnderRoot, root)?.turns ?? 0
  return turns >= maxTurnsPerRoot ? tooManyTurns(instance, turns, maxTurnsPerRoot) : undefined
}

const holdOrDrop = (sql: Sql, entry: Entry, slot: Slot, nowMs: number): E.Either<Failure, Entered> => {
  const verdict = verdictFor(sql, entry, nowMs)
  if (verdict.kind === 'exhausted') return drop(sql, entry, exhausted(verdict.by))
  const wanting = { slot, leader: threadLeader(sql, entry), scarce: scarceIn(verdict) }
  const waitsFor = whatFor(wanting)
  if (waitsFor === undefined && verdict.kind === 'left') {
    takeHold(sql, entry, verdict.allowance, windowsOf(nowMs), nowMs)
    const resume = sessionFor(sql, entry)
    return E.right({ state: 'running', allowance: verdict.allowance, ...(resume === undefined ? {} : { resume }) })
  }
  const refusal = waitRefusal(sql, entry, wanting)
  return refusal ? drop(sql, entry, refusal) : E.right({ state: 'waiting', for: waitsFor ?? 'money' })
}

const scarceIn = (verdict: Verdict): readonly Measure[] => (verdict.kind === 'held' ? verdict.scarce : [])

const threadLeader = (sql: Sql, { from: sender, instance, thread }: Entry): string | undefined =>
  thread === undefined ? undefined : leaderOf(sql, { sender, instance, thread })

const sessionFor = (sql: Sql, { from: sender, instance, thread, engine }: Entry): ThreadSession | undefined =>
  thread === undefined ? undefined : sessionOf(sql, { sender, instance, thread }, engine)

// Refusals are not turns.
const drop = (sql: Sql, { turn }: Entry, refusal: Failure): E.Either<Failure, never> => {
  sql.run(`DELETE FROM turns WHERE turn = ? AND state = 'waiting'`, turn)
  return E.left(refusal)
}

const takeHold = (sql: Sql, entry: Entry, hold: Allowance, windows: Windows, nowMs: number): void => {
  const { turn, timeoutMs = Number.POSITIVE_INFINITY, latestEndMs = Number.POSITIVE_INFINITY } = entry
  const deadlineAtMs = Math.min(nowMs + timeoutMs, latestEndMs)
  addHold(sql, entry, windows, hold)
  sql.run(
    `UPDATE turns SET state = 'running', startedAtMs = ?, day = ?, month = ?, heldMicroUsd = ?, heldTokens = ?,
       deadlineAtMs = ?, limits = ?
     WHERE turn = ?`,
    nowMs,
    windows.day,
    windows.month,
    hold.microUsd ?? null,
    hold.tokens ?? null,
    Number.isFinite(deadlineAtMs) ? deadlineAtMs : null,
    // By these it is settled; its piece of work may have got a budget while it waited.
    JSON.stringify(entry.limits),
    turn,
  )
}

const insertWaiting = (sql: Sql, entry: Entry, nowMs: number): void => {
  sql.run(
    `INSERT INTO turns
       (turn, root, parent, instance, sender, depth, thread, engine, model, state, owner, tokenDigest, limits, createdAtMs)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?, ?)`,
    entry.turn,
    entry.root,
    entry.parent ?? null,
    entry.instance,
    entry.from,
    entry.depth,
    entry.thread ?? null,
    entry.engine,
    entry.model ?? null,
    entry.owner,
    entry.tokenDigest,
    JSON.stringify(entry.limits),
    nowMs,
  )
}

const countUnderRoot = 'SELECT count(*) AS turns FROM turns WHERE root = ?'

const isWaiting = (sql: Sql, { turn }: Entry): boolean => stateOf(sql, turn) === 'waiting'

const stateOf = (sql: Sql, turn: string) =>
  sql.one(t.type({ state: stateColumn }), 'SELECT state FROM turns WHERE turn = ?', turn)?.state
