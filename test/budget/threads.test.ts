import test from 'ava'
import * as io from 'io-ts/lib/index.js'
import { createLedger } from '../../src/budget/open-ledger.ts'
import type { ThreadEnd } from '../../src/budget/threads.ts'
import { textColumn } from '../../src/store/columns.ts'
import { left, opened, right } from '../store/folder.ts'
import { budget, ended, entry, openDesk, usd } from './desk.ts'

const onThread = (turn: string, more: Parameters<typeof entry>[1] = {}) => entry(turn, { thread: 't', ...more })
const settled = (turn: string, threadEnd?: ThreadEnd) => ({
  ...ended(turn, 0, 'none'),
  ...(threadEnd === undefined ? {} : { threadEnd }),
})

test('a thread goes on with what its last turn left to it, for the same sender, instance and engine', async t => {
  const { ledger } = await openDesk(t)
  const first = right(await ledger.enter(onThread('a'), true)())
  t.deepEqual(first, { state: 'running', allowance: {} })
  const end = { session: 's1', totalMicroUsd: 7, totalTokens: 9 }
  right(await ledger.settle(settled('a', end))())
  t.deepEqual(right(await ledger.enter(onThread('b'), true)()), { state: 'running', allowance: {}, resume: end })
  right(await ledger.settle(settled('b'))())
  const others = [{ from: 'x' }, { instance: 'x' }, { thread: 'x' }, { engine: 'x' }]
  for (const [n, other] of others.entries())
    t.deepEqual(right(await ledger.enter(onThread(`o${n}`, other), true)()), { state: 'running', allowance: {} })
})

test('a turn that says nothing of its thread leaves it; one that lost it ends it; new totals take the place of old ones', async t => {
  const { ledger } = await openDesk(t)
  const resumes = async (turn: string, end?: ThreadEnd) => {
    const entered = right(await ledger.enter(onThread(turn), true)())
    right(await ledger.settle(settled(turn, end))())
    return entered.state === 'running' ? entered.resume : entered
  }
  await resumes('a', { session: 's1', totalMicroUsd: 7, totalTokens: 9 })
  await resumes('b')
  t.deepEqual(await resumes('c', { session: 's2' }), { session: 's1', totalMicroUsd: 7, totalTokens: 9 })
  t.deepEqual(await resumes('d', 'lost'), { session: 's2' })
  t.is(await resumes('e'), undefined)
})

test('a thread that is lost is that of one sender with one instance, whoever calls another by its name', async t => {
  const { ledger } = await openDesk(t)
  const others = [{ from: 'x' }, { instance: 'x' }, { thread: 'x' }]
  const run = async (turn: string, more: Parameters<typeof entry>[1], end?: ThreadEnd) => {
    const entered = right(await ledger.enter(onThread(turn, more), true)())
    right(await ledger.settle(settled(turn, end))())
    return entered.state === 'running' ? entered.resume : entered
  }
  for (const [n, other] of others.entries()) await run(`o${n}`, other, { session: `s${n}` })
  await run('a', {}, { session: 's' })
  t.deepEqual(await run('b', {}, 'lost'), { session: 's' })
  for (const [n, other] of others.entries()) t.deepEqual(await run(`p${n}`, other), { session: `s${n}` })
  t.is(await run('c', {}), undefined)
})

test('one turn at a time on a thread, also of two processes; slots and other threads do not matter', async t => {
  const { ledger, folder, clock } = await openDesk(t)
  const elsewhere = createLedger(await opened(t, folder), { now: () => clock.nowMs })
  right(await ledger.enter(onThread('a'), true)())
  const b = onThread('b', { owner: 'other' })
  t.deepEqual(right(await elsewhere.enter(b, true)()), { state: 'waiting', for: 'thread' })
  t.deepEqual(right(await elsewhere.enter(entry('c', { thread: 'u' }), true)()).state, 'running')
  t.deepEqual(right(await elsewhere.hold(b)()), { state: 'waiting', for: 'thread' })
  right(await ledger.ending('a')())
  t.deepEqual(right(await elsewhere.hold(b)()), { state: 'waiting', for: 'thread' })
  right(await ledger.settle(settled('a', { session: 's1' }))())
  t.deepEqual(right(await elsewhere.hold(b)()), { state: 'running', allowance: {}, resume: { session: 's1' } })
  t.deepEqual(right(await elsewhere.hold(b)()), { state: 'running', allowance: {}, resume: { session: 's1' } })
})

test('a turn waits for a thread only if who is on it waits for nobody', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(entry('p', { instance: 'reviewer' }), true)())
  right(await ledger.enter(onThread('leader', { from: 'reviewer' }), true)())
  const child = (turn: string) => onThread(turn, { from: 'reviewer', parent: 'p', root: 'p', depth: 2 })
  t.deepEqual(right(await ledger.enter(child('c1'), true)()), { state: 'waiting', for: 'thread' })
  right(await ledger.leave('c1')())
  const over = entry('over', { instance: 'helper', from: 'worker', parent: 'leader', root: 'leader', depth: 2 })
  right(await ledger.enter(over, true)())
  right(await ledger.settle(settled('over'))())
  t.deepEqual(right(await ledger.enter(child('c1'), true)()), { state: 'waiting', for: 'thread' }, 'not any more')
  right(await ledger.leave('c1')())
  const below = entry('below', { instance: 'helper', from: 'worker', parent: 'leader', root: 'leader', depth: 2 })
  right(await ledger.enter(below, true)())
  const refused = left(await ledger.enter(child('c2'), true)())
  t.like(refused, { code: 'busy', retryAfterMs: 1000 })
  t.true(refused.sentence.startsWith('Thread t of worker is busy with a turn that waits for a talk of its own'))
  // From outside one may wait in any case.
  t.like(right(await ledger.enter(onThread('o', { from: 'reviewer' }), true)()), { for: 'thread' })
})

test('the budget comes first: what is used up is refused, whoever is on the thread', async t => {
  const { ledger } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.5) })
  right(await ledger.enter(onThread('a', { limits }), true)())
  t.deepEqual(right(await ledger.enter(onThread('b', { limits }), true)()), { state: 'waiting', for: 'thread' })
  right(await ledger.settle(ended('a', usd(1)))())
  t.is(left(await ledger.hold(onThread('b', { limits }))()).code, 'budget_exhausted')
})

test('after the death of a host its threads go on where they were', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(onThread('a'), true)())
  right(await ledger.settle(settled('a', { session: 's1' }))())
  right(await ledger.enter(onThread('b'), true)())
  right(await ledger.enter(onThread('c'), true)())
  right(await ledger.abandoned(['host'])())
  right(await ledger.settleAbandoned(['b'])())
  t.deepEqual(right(await ledger.enter(onThread('d'), true)()), {
    state: 'running',
    allowance: {},
    resume: { session: 's1' },
  })
})

test('names that objects have by themselves are names like any other', async t => {
  const { ledger, store } = await openDesk(t)
  for (const thread of ['__proto__', 'constructor', "'; DROP TABLE threads; --"]) {
    right(await ledger.enter(onThread(thread, { thread }), true)())
    right(await ledger.settle(settled(thread, { session: `s ${thread}` }))())
  }
  const names = store.read(sql =>
    sql.all(io.type({ thread: textColumn }), 'SELECT thread FROM threads ORDER BY thread'),
  )
  t.deepEqual(
    right(await names()).map(({ thread }) => thread),
    ["'; DROP TABLE threads; --", '__proto__', 'constructor'],
  )
})

test('two threads never share a session: a turn that ends on another’s leaves its own without one', async t => {
  const { ledger } = await openDesk(t)
  const run = async (turn: string, thread: string, threadEnd?: ThreadEnd) => {
    const entered = right(await ledger.enter(onThread(turn, { thread }), true)())
    right(await ledger.settle(settled(turn, threadEnd))())
    return entered.state === 'running' ? entered.resume?.session : entered
  }
  await run('a', 't', { session: 's1' })
  await run('b', 'u', { session: 's2' })
  t.is(await run('c', 'u', { session: 's1' }), 's2')
  t.is(await run('d', 'u'), undefined)
  t.is(await run('e', 't', { session: 's1' }), 's1', 'its own it keeps')
  t.is(await run('f', 't'), 's1')
})

test('what a turn without a thread says of one is kept nowhere', async t => {
  const { ledger } = await openDesk(t)
  for (const [turn, end] of [
    ['a', { session: 's1' }],
    ['b', 'lost'],
  ] as const) {
    right(await ledger.enter(entry(turn), true)())
    right(await ledger.settle(settled(turn, end))())
  }
  t.deepEqual(right(await ledger.enter(onThread('c'), true)()), { state: 'running', allowance: {} })
})
