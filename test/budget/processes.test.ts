import test from 'ava'
import { turnRecords } from '../../src/budget/turns.ts'
import { startChild } from '../store/child.ts'
import { right } from '../store/folder.ts'
import { entry, openDesk, usd } from './desk.ts'

const spend = new URL('programs/spend.ts', import.meta.url)

test('four processes, 50 charges of $0.01 each on one file: $2.00 exactly', async t => {
  const { folder, state, store } = await openDesk(t)
  const children = ['p', 'q', 'r', 's'].map(name => startChild(t, spend, [folder, name, '50', '10000', '100']))
  for (const child of children) t.is(await child.line(), 'ready')
  for (const child of children) child.say('go')
  for (const child of children) t.deepEqual(JSON.parse(await child.line()), { running: 50 })
  t.like(await state({ instance: 'worker' }), { spentMicroUsd: usd(2), heldMicroUsd: 0, turns: 200 })
  t.is(right(await turnRecords(store, { limit: 1000 })()).length, 200)
})

test('four processes, 100 talks of $0.10 at once against $1.00: exactly 10 run', async t => {
  const { folder, state } = await openDesk(t)
  const children = ['p', 'q', 'r', 's'].map(name => startChild(t, spend, [folder, name, '25', 'hold', '1']))
  for (const child of children) t.is(await child.line(), 'ready')
  for (const child of children) child.say('go')
  let running = 0
  for (const child of children) running += JSON.parse(await child.line()).running ?? 0
  t.is(running, 10)
  t.like(await state({ instance: 'worker' }), { heldMicroUsd: usd(1), spentMicroUsd: 0 })
})

test('the same, settled at $0.10 each: $1.00 exactly, and 90 refusals', async t => {
  const { folder, state } = await openDesk(t)
  const children = ['p', 'q', 'r', 's'].map(name => startChild(t, spend, [folder, name, '25', '100000', '1']))
  for (const child of children) t.is(await child.line(), 'ready')
  for (const child of children) child.say('go')
  const sums = { running: 0, budget_exhausted: 0 }
  for (const child of children) {
    const { running = 0, budget_exhausted = 0, ...more } = JSON.parse(await child.line())
    t.deepEqual(more, {})
    sums.running += running
    sums.budget_exhausted += budget_exhausted
  }
  t.deepEqual(sums, { running: 10, budget_exhausted: 90 })
  t.like(await state({ instance: 'worker' }), { heldMicroUsd: 0, spentMicroUsd: usd(1), turns: 10 })
})

test('a process killed in the middle loses nothing: its turns are found, and settled at their holds', async t => {
  const { folder, state, ledger } = await openDesk(t)
  const child = startChild(t, spend, [folder, 'p', '1000000', '1000', '1000000'])
  t.is(await child.line(), 'ready')
  child.say('go')
  t.is(await child.line(), 'busy with it')
  await child.kill()

  const before = await state({ instance: 'worker' })
  const open = right(await ledger.abandoned(['p'])())
  t.is(before.heldMicroUsd, open.length * usd(0.1))
  t.is(before.spentMicroUsd, before.turns * 1000)
  t.true(before.turns >= 20)
  right(await ledger.settleAbandoned(open.map(({ turn }) => turn))())
  t.like(await state({ instance: 'worker' }), {
    spentMicroUsd: before.spentMicroUsd + open.length * usd(0.1),
    heldMicroUsd: 0,
    turns: before.turns + open.length,
  })
  t.is(right(await ledger.enter(entry('next'), true)()).state, 'running')
})

test('a process killed while its turn runs leaves the hold, which other processes respect', async t => {
  const { folder, ledger } = await openDesk(t)
  const child = startChild(t, spend, [folder, 'p', '1', 'hold', '0.1'])
  t.is(await child.line(), 'ready')
  child.say('go')
  t.deepEqual(JSON.parse(await child.line()), { running: 1 })
  await child.kill()
  const limits = { budget: { microUsd: usd(0.1), per: 'total' } } as const
  t.deepEqual(right(await ledger.enter(entry('mine', { limits }), true)()), { state: 'waiting', for: 'money' })
  t.deepEqual(right(await ledger.abandoned(['p'])()), [{ turn: 'p 0', instance: 'worker' }])
})
