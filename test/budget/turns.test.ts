import test from 'ava'
import { addCredit } from '../../src/budget/credits.ts'
import { ownersOfOpenTurns } from '../../src/budget/recover.ts'
import { turnRecord, turnRecords, turnTree } from '../../src/budget/turns.ts'
import { left, right } from '../store/folder.ts'
import { charge, ended, entry, openDesk, usd } from './desk.ts'

test('turns are told newest first, of one instance or of all, and as trees', async t => {
  const { ledger, store, clock } = await openDesk(t)
  right(await ledger.enter(entry('a', { instance: 'reviewer', model: 'm' }), true)())
  right(await ledger.enter(entry('b', { root: 'a', parent: 'a', from: 'reviewer', depth: 2 }), true)())
  right(await ledger.started('b', { pid: 7, startTime: 's' })())
  right(await ledger.seen('b', usd(0.01), 30)())
  t.is(right(await turnRecord(store, clock.nowMs, 'b')())?.tokens, 30, 'as far as seen')
  clock.nowMs += 1500
  right(await ledger.settle({ ...ended('b', usd(0.02)), tokens: 40, answer: 'fine', session: 's1', model: 'x' })())
  right(await ledger.enter(entry('c'), false)())

  const all = right(await turnRecords(store, { limit: 2 })())
  t.deepEqual(
    all.map(({ turn, state }) => [turn, state]),
    [
      ['c', 'waiting'],
      ['b', 'done'],
    ],
  )
  t.deepEqual(
    right(await turnRecords(store, { limit: 10, instance: 'reviewer' })()).map(({ turn }) => turn),
    ['a'],
  )
  const [root, child] = right(await turnTree(store, 'a')())
  t.is(root?.turn, 'a')
  t.deepEqual(
    { ...child },
    {
      turn: 'b',
      root: 'a',
      parent: 'a',
      instance: 'worker',
      from: 'reviewer',
      depth: 2,
      engine: 'command',
      model: 'x',
      session: 's1',
      state: 'done',
      createdAtMs: clock.nowMs - 1500,
      startedAtMs: clock.nowMs - 1500,
      endedAtMs: clock.nowMs,
      outcome: 'success',
      costMicroUsd: usd(0.02),
      basis: 'reported',
      tokens: 40,
    },
  )
  t.is(right(await turnRecord(store, clock.nowMs, 'b')())?.answer, 'fine')
})

test('a turn is found by the beginning of its id, where that is no other’s', async t => {
  const { ledger, store, clock } = await openDesk(t)
  for (const turn of ['ab1', 'ab2', 'b%', 'ab']) right(await ledger.enter(entry(turn, { instance: turn }), true)())
  const find = (id: string) => turnRecord(store, clock.nowMs, id)()
  t.is(right(await find('ab1'))?.turn, 'ab1')
  t.is(right(await find('ab'))?.turn, 'ab', 'a whole id is never a beginning')
  t.is(right(await find('b'))?.turn, 'b%')
  t.is(right(await find('%')), undefined)
  t.is(right(await find('zz')), undefined)
  const refusal = left(await find('a'))
  t.is(refusal.code, 'invalid_request')
  t.regex(refusal.sentence, /More than one turn begins with "a"/)
})

test('an answer is kept for a day, cut at a character', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const answered = async (turn: string, answer: string) => {
    right(await ledger.enter(entry(turn), true)())
    right(await ledger.settle({ ...ended(turn, 0), answer })())
    return right(await turnRecord(store, clock.nowMs, turn)())?.answer
  }
  t.is(await answered('a', 'x'.repeat(300_000)), 'x'.repeat(262_144))
  t.is(await answered('b', `x${'é'.repeat(200_000)}`), `x${'é'.repeat(131_071)}`)
  t.is(await answered('c', `xx${'😀'.repeat(70_000)}`), `xx${'😀'.repeat(65_535)}`)
  t.is(await answered('d', ''), '')
  t.is(await answered('e', 'a\0b\ud800c'), 'a\ufffdb\ufffdc')
  const answerOf = async (turn: string) => right(await turnRecord(store, clock.nowMs, turn)())?.answer
  clock.nowMs += 24 * 60 * 60 * 1000 - 1
  t.is(await answerOf('d'), '')
  clock.nowMs += 1
  t.is(await answerOf('d'), undefined)
  t.is(await answered('f', 'new'), 'new')
  clock.nowMs -= 1
  t.is(await answerOf('a'), undefined, 'it is gone, not only hidden')
})

test('what is added to a budget counts in its window, and only there', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  const limits = { budget: { microUsd: usd(1), per: 'day' } } as const
  const add = (microUsd: number) => addCredit(store, clock.nowMs, { scope: 'worker', microUsd, per: 'day' })()
  await charge(ledger, entry('a', { limits }), usd(1.2))
  right(await add(usd(0.1)))
  t.regex(left(await ledger.enter(entry('b', { limits }), true)()).sentence, /\$1\.2000 used of \$1\.10\./)
  right(await add(usd(0.4)))
  t.like(await state({ instance: 'worker', ...limits }), { limitMicroUsd: usd(1.5), spentMicroUsd: usd(1.2) })
  t.deepEqual(right(await ledger.enter(entry('c', { limits }), true)()), {
    state: 'running',
    allowance: { microUsd: usd(0.3) },
  })
  clock.nowMs += 24 * 60 * 60 * 1000
  t.like(await state({ instance: 'worker', ...limits }), { limitMicroUsd: usd(1), spentMicroUsd: 0, heldMicroUsd: 0 })
  for (const wrong of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    t.is(left(await add(wrong)).code, 'invalid_request')
})

test('a budget that is not limited tells what was spent in all, and no limit', async t => {
  const { state } = await openDesk(t)
  t.deepEqual(await state({ instance: 'worker' }), {
    instance: 'worker',
    per: 'total',
    window: 'total',
    spentMicroUsd: 0,
    heldMicroUsd: 0,
    tokens: 0,
    turns: 0,
    unknownTurns: 0,
  })
  t.like(await state({ instance: 'worker', budget: { per: 'month', turns: 3, tokens: 0 } }), {
    window: '2026-12',
    limitTurns: 3,
    limitTokens: 0,
  })
})

test('who has turns open is known without a registry', async t => {
  const { ledger, store } = await openDesk(t)
  right(await ledger.enter(entry('a', { owner: 'one' }), true)())
  right(await ledger.enter(entry('b', { owner: 'two' }), false)())
  await charge(ledger, entry('c', { owner: 'three' }), 0)
  t.deepEqual(right(await ownersOfOpenTurns(store)()).toSorted(), ['one', 'two'])
})
