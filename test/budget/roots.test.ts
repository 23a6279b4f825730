import test from 'ava'
import { forgiveTurn } from '../../src/budget/corrections.ts'
import { openRoot, rootState } from '../../src/budget/roots.ts'
import { setIn } from '../../src/budget/sentences.ts'
import { startChild } from '../store/child.ts'
import { left, right } from '../store/folder.ts'
import { budget, type Desk, ended, entry, openDesk, usd } from './desk.ts'

const capped = { limits: { maxTurnMicroUsd: usd(0.1) } } as const
const open = async ({ store, clock }: Desk, root: string, dollars?: number): Promise<void> => {
  const limit = dollars === undefined ? {} : { limitMicroUsd: usd(dollars) }
  right(await openRoot(store, { root, ...limit }, clock.nowMs)())
}

test('every turn under a root with a budget is held, settled and refused by it as by any other', async t => {
  const desk = await openDesk(t)
  const { ledger, store } = desk
  await open(desk, 'R', 0.3)
  const one = entry('a', { root: 'R', ...capped })
  t.deepEqual(right(await ledger.enter(one, true)()), { state: 'running', allowance: { microUsd: usd(0.1) } })
  // What a turn delegates, to another instance and in another process, is charged to the root of its parent.
  const child = entry('b', { root: 'R', parent: 'a', instance: 'helper', owner: 'other', limits: {} })
  t.deepEqual(right(await ledger.enter(child, true)()), { state: 'running', allowance: { microUsd: usd(0.2) } })
  t.deepEqual(right(await ledger.enter(entry('c', { root: 'R', ...capped }), true)()), {
    state: 'waiting',
    for: 'work',
  })
  t.like(right(await rootState(store, 'R')()), { heldMicroUsd: usd(0.3), spentMicroUsd: 0, limitMicroUsd: usd(0.3) })
  t.is(right(await ledger.settle(ended('b', usd(0.15)))()).warning, undefined)
  t.like(right(await ledger.hold(entry('c', { root: 'R', ...capped }))()), { allowance: { microUsd: usd(0.05) } })
  right(await ledger.settle(ended('a', usd(0.1)))())
  t.is(
    right(await ledger.settle(ended('c', usd(0.05)))()).warning,
    'Budget of this piece of work: $0.3000 used of $0.30 (total).',
  )
  const refused = left(await ledger.enter(entry('d', { root: 'R', ...capped }), true)())
  t.is(refused.code, 'budget_exhausted')
  t.is(
    setIn('/x/budgets.json')(refused).sentence,
    'Budget exhausted: $0.3000 used of $0.30. It is the budget of this piece of work ($0.30).',
  )
  // Other work, and talks under no such root, are not concerned.
  t.is(right(await ledger.enter(entry('e'), true)()).state, 'running')
  t.like(right(await rootState(store, 'R')()), { heldMicroUsd: 0, spentMicroUsd: usd(0.3) })
})

test('only a root that stands there can be named, and one without a limit is counted', async t => {
  const desk = await openDesk(t)
  const { ledger, store } = desk
  t.deepEqual(left(await ledger.enter(entry('a', { root: 'R' }), true)()), {
    code: 'invalid_request',
    sentence: 'There is no piece of work with the root "R" in this store.',
  })
  await open(desk, 'R')
  t.is(left(await ledger.enter(entry('a', { root: 'S' }), true)()).code, 'invalid_request')
  t.deepEqual(right(await ledger.enter(entry('a', { root: 'R' }), true)()), { state: 'running', allowance: {} })
  right(await ledger.settle(ended('a', usd(0.2)))())
  t.like(right(await rootState(store, 'R')()), { spentMicroUsd: usd(0.2), limitMicroUsd: undefined })
  await open(desk, 'R', 0.1)
  t.is(left(await ledger.enter(entry('b', { root: 'R' }), true)()).code, 'budget_exhausted')
  await open(desk, 'R', 0.5)
  t.like(right(await ledger.enter(entry('b', { root: 'R' }), true)()), { allowance: { microUsd: usd(0.3) } })
  await open(desk, 'R')
  t.is(right(await rootState(store, 'R')())?.limitMicroUsd, usd(0.5))
})

test('maxTurnsPerRoot counts the talks from outside under such a root too', async t => {
  const desk = await openDesk(t)
  await open(desk, 'R')
  const under = (turn: string) => entry(turn, { root: 'R', maxTurnsPerRoot: 2 })
  right(await desk.ledger.enter(under('a'), true)())
  right(await desk.ledger.enter(under('b'), true)())
  t.is(left(await desk.ledger.enter(under('c'), true)()).code, 'turns_exhausted')
  t.is(right(await desk.ledger.enter(entry('d', { maxTurnsPerRoot: 0 }), true)()).state, 'running')
})

test('a talk that waits for the money of its own parent is busy at once', async t => {
  const desk = await openDesk(t)
  await open(desk, 'R', 0.3)
  right(await desk.ledger.enter(entry('a', { root: 'R' }), true)())
  const refused = left(await desk.ledger.enter(entry('b', { root: 'R', parent: 'a', instance: 'helper' }), true)())
  t.is(refused.code, 'busy')
  t.regex(
    refused.sentence,
    /^The budget of this piece of work is held by .* Give its instances a smaller maxTurnUsd\.$/,
  )
})

test('a host that died leaves the hold to the root, and forgiving gives it back there too', async t => {
  const desk = await openDesk(t)
  const { ledger, store, clock, state } = desk
  await open(desk, 'R', 1)
  right(await ledger.enter(entry('a', { root: 'R', limits: { maxTurnMicroUsd: usd(0.4) } }), true)())
  right(await ledger.seen('a', usd(0.1), 0)())
  right(await ledger.abandoned(['host'])())
  right(await ledger.settleAbandoned(['a'])())
  t.like(right(await rootState(store, 'R')()), { spentMicroUsd: usd(0.4), heldMicroUsd: 0 })
  right(await forgiveTurn(store, clock.nowMs, 'a')())
  t.like(right(await rootState(store, 'R')()), { spentMicroUsd: usd(0.1), heldMicroUsd: 0 })
  t.like(await state({ instance: 'worker' }), { spentMicroUsd: usd(0.1) })
})

test('a turn that nobody can tell the cost of is charged its hold, where only its root has a limit', async t => {
  const desk = await openDesk(t)
  await open(desk, 'R', 1)
  right(await desk.ledger.enter(entry('a', { root: 'R', ...capped }), true)())
  t.is(right(await desk.ledger.settle(ended('a', 5, 'unknown', 'timeout'))()).microUsd, usd(0.1))
})

test('a turn is not charged to a root that is none of its own', async t => {
  const desk = await openDesk(t)
  await open(desk, 'R', 1)
  await open(desk, 'S', 1)
  right(await desk.ledger.enter(entry('a', { root: 'S', limits: budget({ microUsd: usd(0.2) }) }), true)())
  right(await desk.ledger.settle(ended('a', usd(0.05)))())
  t.like(right(await rootState(desk.store, 'R')()), { spentMicroUsd: 0 })
  t.like(right(await rootState(desk.store, 'S')()), { spentMicroUsd: usd(0.05) })
})

test('the money of a piece of work is waited for where a turn of that very work is free to end', async t => {
  const desk = await openDesk(t)
  const { ledger } = desk
  await open(desk, 'R', 0.1)
  await open(desk, 'S', 1)
  right(await ledger.enter(entry('a', { root: 'R', ...capped }), true)())
  right(await ledger.enter(entry('else', { root: 'S', ...capped }), true)())
  const child = entry('b', { root: 'R', parent: 'a', instance: 'helper' })
  t.is(left(await ledger.enter(child, true)()).code, 'busy', 'the turn of S holds none of it')
  await open(desk, 'R', 0.2)
  right(await ledger.enter(entry('free', { root: 'R', ...capped, instance: 'other' }), true)())
  t.deepEqual(right(await ledger.enter(child, true)()), { state: 'waiting', for: 'work' })
})

test('who waits for its own budget too waits for money, not for the work alone', async t => {
  const desk = await openDesk(t)
  const { ledger } = desk
  await open(desk, 'R', 0.1)
  const limits = budget({ microUsd: usd(0.1) }, { maxTurnMicroUsd: usd(0.1) })
  right(await ledger.enter(entry('a', { root: 'R', limits }), true)())
  t.deepEqual(right(await ledger.enter(entry('b', { root: 'R', limits }), true)()), { state: 'waiting', for: 'money' })
})

test('a piece of work is found by the beginning of its id, where that is no other’s', async t => {
  const desk = await openDesk(t)
  for (const root of ['ab1', 'ab2', 'ab', 'c%', 'd']) await open(desk, root, 1)
  const find = async (id: string) => right(await rootState(desk.store, id)())?.root
  t.is(await find('ab2'), 'ab2')
  t.is(await find('ab'), 'ab', 'a whole id is never a beginning')
  t.is(await find('c'), 'c%')
  t.is(await find('a'), undefined, 'that of several is none')
  t.is(await find('%'), undefined)
})

const spend = new URL('programs/spend.ts', import.meta.url)

test('four processes, 100 branches of $0.10 at once against a root of $1.00: exactly 10 run', async t => {
  const desk = await openDesk(t)
  await open(desk, 'R', 1)
  const children = ['p', 'q', 'r', 's'].map(name =>
    startChild(t, spend, [desk.folder, name, '25', 'hold', '1000', 'R']),
  )
  for (const child of children) t.is(await child.line(), 'ready')
  for (const child of children) child.say('go')
  let running = 0
  for (const child of children) running += JSON.parse(await child.line()).running ?? 0
  t.is(running, 10)
  t.like(right(await rootState(desk.store, 'R')()), { heldMicroUsd: usd(1), spentMicroUsd: 0 })
})

test('a budget that a piece of work gets while a talk waits is given back what that talk held', async t => {
  const { ledger, store } = await openDesk(t)
  right(await ledger.enter(entry('P'), true)())
  right(await ledger.enter(entry('other', { instance: 'b' }), true)())
  const child = entry('C', { parent: 'P', root: 'P', instance: 'b' })
  t.like(right(await ledger.enter(child, false)()), { state: 'waiting' })
  right(await openRoot(store, { root: 'P', limitMicroUsd: usd(1) }, 0)())
  t.like(right(await ledger.hold(child)()), { state: 'running', allowance: { microUsd: usd(1) } })
  right(await ledger.settle(ended('C', usd(0.1)))())
  t.like(right(await rootState(store, 'P')()), { heldMicroUsd: 0, spentMicroUsd: usd(0.1) })
})
