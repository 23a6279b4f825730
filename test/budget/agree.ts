import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { forgiveTurn, resetBudget } from '../../src/budget/corrections.ts'
import { addCredit } from '../../src/budget/credits.ts'
import type { Entered, Entry } from '../../src/budget/ledger.ts'
import { createLedger } from '../../src/budget/open-ledger.ts'
import { openRoot } from '../../src/budget/roots.ts'
import type { Failure } from '../../src/protocol/failure.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { left, right } from '../store/folder.ts'
import { ended, entry } from './desk.ts'
import { type PlainLimit, type PlainTurn, plainMoney } from './plain-money.ts'
import { caps, everywhere, fileLimits, limitsOf, type Name, type Step, work } from './steps.ts'

/** Takes the steps with a real ledger and with the plain money, and compares all that they say. Throws where they differ. */
export const agree = async (startMs: number, steps: readonly Step[]): Promise<void> => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'errand-model-'))
  const pair = await pairOf(folder, startMs)
  try {
    for (const step of steps) await pair.take(step)
    await pair.compare()
    await pair.settleAll()
    await pair.compare()
  } finally {
    pair.close()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

type Asked = Entry & { readonly instance: Name }
type Running = PlainTurn & { readonly owner: string }

const pairOf = async (folder: string, startMs: number) => {
  let nowMs = startMs
  const open = async () => right(await openStore(folder)())
  let store = await open()
  let ledger = createLedger(store, { now: () => nowMs })
  right(await openRoot(store, { root: work.scope.slice('root:'.length), limitMicroUsd: work.microUsd ?? 0 }, nowMs)())
  const plain = plainMoney(dayOf)
  const waiting: Asked[] = []
  const running: Running[] = []
  const done: PlainTurn[] = []
  const forgiven = new Set<PlainTurn>()
  let made = 0

  /** Whether it waits. */
  const compareEntered = (one: Asked, entered: E.Either<Failure, Entered>): boolean => {
    const limits = bearingOn(one)
    const verdict = plain.verdict(limits, caps[one.instance], nowMs)
    if (verdict === 'exhausted') assert.equal(left(entered).code, 'budget_exhausted')
    if (verdict === 'held') assert.equal(right(entered).state, 'waiting')
    if (typeof verdict === 'string') return verdict === 'held'
    assert.deepEqual(right(entered), { state: 'running', allowance: withoutUndefined(verdict) })
    const windows = (['total', 'month', 'day'] as const).map(per => plain.windowOf(per, nowMs))
    const rows = [one.instance, '*'].flatMap(scope => windows.map(window => [scope, window] as const))
    const turn = {
      ...{ turn: one.turn, owner: one.owner, limits, seenMicroUsd: 0, seenTokens: 0 },
      rows: limits.includes(work) ? [...rows, [work.scope, 'total'] as const] : rows,
      ...{ holdMicroUsd: verdict.microUsd, holdTokens: verdict.tokens },
    }
    plain.hold(turn)
    running.push(turn)
    return false
  }

  const settle = async (one: Running, { end }: Extract<Step, { what: 'settle' }>): Promise<void> => {
    move(one, running, done)
    plain.settle(one, end)
    const how = ended(one.turn, end.microUsd, end.basis, end.success ? 'success' : 'engine_cli', end.tokens)
    const { microUsd, basis } = right(await ledger.settle(how)())
    assert.deepEqual([microUsd, basis], [one.charged?.microUsd, end.basis])
    const again = right(await ledger.settle({ ...how, cost: { microUsd: 1, basis: 'reported' } })())
    assert.equal(again.microUsd, microUsd, 'settled once')
  }

  /** All connections are lost; what one of the two owners had is cleaned up after. */
  const crash = async (owner: string): Promise<void> => {
    store.close()
    store = await open()
    ledger = createLedger(store, { now: () => nowMs })
    const cut = running.filter(one => one.owner === owner)
    const turns = right(await ledger.abandoned([owner])()).map(({ turn }) => turn)
    assert.deepEqual(turns.toSorted(), cut.map(({ turn }) => turn).toSorted())
    right(await ledger.settleAbandoned(turns)())
    for (const one of cut) {
      move(one, running, done)
      plain.settle(one, { microUsd: one.seenMicroUsd, tokens: one.seenTokens, basis: 'unknown', success: false })
    }
    for (const one of waiting.filter(one => one.owner === owner)) move(one, waiting)
  }

  const forgive = async (one: PlainTurn): Promise<void> => {
    const back = plain.forgive(one, forgiven.has(one))
    const told = await forgiveTurn(store, nowMs, one.turn)()
    if (back === undefined) return assert.equal(left(told).code, 'invalid_request')
    const { microUsd, tokens } = right(told)
    assert.deepEqual({ microUsd, tokens }, back)
    forgiven.add(one)
  }

  const enter = async ({ instance, owner, ofWork }: Extract<Step, { what: 'enter' }>): Promise<void> => {
    made += 1
    const turn = `t${made}`
    const root = ofWork ? work.scope.slice('root:'.length) : turn
    const asked = { ...entry(turn, { owner, root, limits: fileLimits(instance), maxTurnsPerRoot: 10_000 }), instance }
    if (compareEntered(asked, await ledger.enter(asked, true)())) waiting.push(asked)
  }

  const correct = async (step: Extract<Step, { what: 'add' | 'reset' }>): Promise<void> => {
    const { scope, per } = chosen([...limitsOf.A, ...limitsOf.B, everywhere, work], step.which) ?? everywhere
    plain[step.what](scope, per, nowMs, step.microUsd)
    if (step.what === 'reset') right(await resetBudget(store, nowMs, { scope, per })())
    else right(await addCredit(store, nowMs, { scope, per, microUsd: step.microUsd })())
  }

  return {
    take: async (step: Step): Promise<void> => {
      if (step.what === 'enter') return enter(step)
      if (step.what === 'crash') return crash(step.owner)
      if (step.what === 'add' || step.what === 'reset') return correct(step)
      if (step.what === 'clock') {
        nowMs += step.byMs
        return
      }
      if (step.what === 'retry' || step.what === 'leave') {
        const one = chosen(waiting, step.which)
        if (one === undefined) return
        if (step.what === 'leave') right(await ledger.leave(one.turn)())
        else if (compareEntered(one, await ledger.hold(one)())) return
        return move(one, waiting)
      }
      if (step.what === 'forgive') {
        const one = chosen([...done, ...running], step.which)
        return one && forgive(one)
      }
      const one = chosen(running, step.which)
      if (one === undefined) return
      if (step.what === 'settle') return settle(one, step)
      if (step.what !== 'see') return
      right(await ledger.seen(one.turn, step.microUsd, step.tokens)())
      one.seenMicroUsd = Math.max(one.seenMicroUsd, step.microUsd)
      one.seenTokens = Math.max(one.seenTokens, step.tokens)
    },
    settleAll: async (): Promise<void> => {
      const end = { microUsd: 1, tokens: 1, basis: 'reported', success: true } as const
      for (const one of [...running]) await settle(one, { what: 'settle', which: 0, end })
      for (const sums of plain.sums.values()) assert.equal(sums.heldMicroUsd + sums.heldTokens + sums.heldTurns, 0)
    },
    compare: async (): Promise<void> => assert.deepEqual(await balances(store), nonZero(plain.sums)),
    close: () => store.close(),
  }
}

// Not by the code that is tested.
const dayOf = (atMs: number): string => {
  const parts = new Intl.DateTimeFormat('en', { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(atMs)
  return ['year', 'month', 'day'].map(name => parts.find(({ type }) => type === name)?.value).join('-')
}

const bearingOn = ({ instance, root, turn }: Asked): readonly PlainLimit[] => [
  ...limitsOf[instance],
  everywhere,
  ...(root === turn ? [] : [work]),
]

const balanceRow = t.record(t.string, t.union([t.string, t.number]))

const balances = async (store: Store) => {
  const rows = right(await store.read(sql => sql.all(balanceRow, 'SELECT * FROM balances'))())
  return nonZero(new Map(rows.map(({ scope, window, ...sums }) => [`${scope} ${window}`, sums])))
}

/** A row that is all 0 says no more than none. */
const nonZero = (sums: ReadonlyMap<string, object>): Readonly<Record<string, object>> =>
  Object.fromEntries(
    [...sums].filter(([, one]) => Object.values(one).some(n => n !== 0)).map(([at, one]) => [at, { ...one }]),
  )

const chosen = <A>(list: readonly A[], at: number): A | undefined => list[at % Math.max(1, list.length)]

const move = <A extends B, B>(one: A, from: A[], to?: B[]): void => {
  from.splice(from.indexOf(one), 1)
  to?.push(one)
}

const withoutUndefined = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined))
