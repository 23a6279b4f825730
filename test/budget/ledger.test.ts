import test from 'ava'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Entry } from '../../src/budget/ledger.ts'
import { lastEnded, leftOpen } from '../../src/budget/left-open.ts'
import { createLedger } from '../../src/budget/open-ledger.ts'
import { setIn } from '../../src/budget/sentences.ts'
import { turnRecord, turnRecords } from '../../src/budget/turns.ts'
import { failure } from '../../src/protocol/failure.ts'
import { maxTurnMicroUsd, maxTurnTokens } from '../../src/protocol/money.ts'
import type { Store } from '../../src/store/store.ts'
import { left, right } from '../store/folder.ts'
import { budget, charge, ended, entry, openDesk, usd } from './desk.ts'

test('100 talks at once for $0.10 each of $1.00: exactly 10 run', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.1) })
  const entered = await Promise.all(
    Array.from({ length: 100 }, (_, at) => ledger.enter(entry(`t${at}`, { limits }), true)()),
  )
  const running = entered.map(right).filter(({ state }) => state === 'running')
  t.is(running.length, 10)
  t.deepEqual(running[0], { state: 'running', allowance: { microUsd: usd(0.1) } })
  t.true(entered.map(right).every(e => e.state === 'running' || e.for === 'money'))
  const now = await state({ instance: 'worker', budget: { microUsd: usd(1), per: 'total' } })
  t.is(now.heldMicroUsd, usd(1))
  t.is(now.spentMicroUsd, 0)
})

test('ten turns that hold more than they cost: the next one waits, then runs, and nothing is left held', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.1) })
  for (let at = 0; at < 10; at += 1) right(await ledger.enter(entry(`t${at}`, { limits }), true)())
  const late = entry('late', { limits })
  t.deepEqual(right(await ledger.enter(late, true)()), { state: 'waiting', for: 'money' })
  t.deepEqual(right(await ledger.hold(late)()), { state: 'waiting', for: 'money' })
  for (let at = 0; at < 10; at += 1) right(await ledger.settle(ended(`t${at}`, usd(0.01)))())
  t.is(right(await ledger.hold(late)()).state, 'running')
  t.deepEqual(
    right(await ledger.hold(late)()),
    { state: 'running', allowance: { microUsd: usd(0.1) } },
    'asked twice, held once',
  )
  right(await ledger.settle(ended('late', usd(0.01)))())
  const now = await state({ instance: 'worker', budget: { microUsd: usd(1), per: 'total' } })
  t.like(now, { spentMicroUsd: usd(0.11), heldMicroUsd: 0, turns: 11, limitMicroUsd: usd(1) })
})

test('the refusal tells used and limit, whose, and what is held apart; and leaves no row', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const perDay = { budget: { microUsd: usd(1), per: 'day' } } as const
  await charge(ledger, entry('a', { limits: perDay }), usd(1.2))
  t.deepEqual(left(await ledger.enter(entry('b', { limits: perDay }), true)()), {
    code: 'budget_exhausted',
    sentence:
      'Budget exhausted: $1.2000 used of $1.00. It is the budget of worker for 2026-12-01. For more: errand budget add worker 2.',
  })
  t.is(
    left(await ledger.enter(entry('b', { limits: budget({ turns: 1 }) }), true)()).sentence,
    'Budget exhausted: 1 turn used of 1. It is the budget of worker. For more: raise it in budgets.json.',
  )
  const all = { total: { microUsd: usd(2), per: 'month' }, maxTurnMicroUsd: usd(0.5) } as const
  right(await ledger.enter(entry('c', { limits: all, instance: 'other' }), true)())
  const less = { total: { microUsd: usd(1.1), per: 'month' } } as const
  t.is(
    left(await ledger.enter(entry('d', { limits: less, instance: 'other' }), true)()).sentence,
    'Budget exhausted: $1.2000 used of $1.10. It is the budget of all instances for 2026-12; $0.5000 more held by turns that run. For more: errand budget add "*" 2.',
  )
  t.deepEqual(
    right(await turnRecords(store, { limit: 10 })()).map(({ turn }) => turn),
    ['c', 'a'],
  )
  t.is(right(await turnRecord(store, clock.nowMs, 'b')()), undefined)
})

test('a refusal by a limit of the file names the file, any other stays as it is', async t => {
  const { ledger } = await openDesk(t)
  const refusal = left(await ledger.enter(entry('a', { limits: budget({ turns: 0 }) }), true)())
  t.deepEqual(setIn('/x/budgets.json')(refusal), {
    code: 'budget_exhausted',
    sentence:
      'Budget exhausted: 0 turns used of 0. It is the budget of worker. For more: raise it in budgets.json. It is set in /x/budgets.json.',
  })
  const busy = failure('busy', 'worker is busy.', 1000)
  t.is(setIn('/x/budgets.json')(busy), busy)
})

test('0 blocks before anything starts, a missing budget is no limit', async t => {
  const { ledger } = await openDesk(t)
  t.is(
    left(await ledger.enter(entry('a', { limits: budget({ microUsd: 0 }) }), true)()).sentence,
    'Budget exhausted: $0.0000 used of $0.00. It is the budget of worker. For more: errand budget add worker 2.',
  )
  t.deepEqual(right(await ledger.enter(entry('b'), true)()), { state: 'running', allowance: {} })
})

test('turns that are cut, ten times: their holds use the budget up in the end', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.25) })
  const outcomes: string[] = []
  for (let at = 0; at < 10; at += 1) {
    const entered = await ledger.enter(entry(`t${at}`, { limits }), true)()
    if (entered._tag === 'Left') {
      outcomes.push(entered.left.code)
      continue
    }
    right(await ledger.seen(`t${at}`, usd(0.03), 100)())
    const settled = right(await ledger.settle(ended(`t${at}`, usd(0.03), 'unknown', 'timeout'))())
    outcomes.push(`${settled.basis} ${settled.microUsd}`)
  }
  t.deepEqual(outcomes, [...Array(4).fill('unknown 250000'), ...Array(6).fill('budget_exhausted')])
  t.like(await state({ instance: 'worker', budget: { microUsd: usd(1), per: 'total' } }), {
    spentMicroUsd: usd(1),
    unknownTurns: 4,
  })
})

test('a second settle changes nothing, and a turn that never ran cannot be settled', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.1) })
  right(await ledger.enter(entry('a', { limits }), true)())
  t.like(right(await ledger.settle(ended('a', usd(0.04)))()), { microUsd: usd(0.04), basis: 'reported' })
  t.like(right(await ledger.settle(ended('a', usd(0.09), 'unknown'))()), { microUsd: usd(0.04), basis: 'reported' })
  right(await ledger.seen('a', usd(0.5), 9)())
  right(await ledger.started('a', { pid: 1, startTime: 'x' })())
  t.like(await state({ instance: 'worker' }), {
    ...{ spentMicroUsd: usd(0.04), turns: 1, tokens: 0, heldMicroUsd: 0, unknownTurns: 0 },
  })
  right(await ledger.enter(entry('b', { limits }), false)())
  t.deepEqual(left(await ledger.settle(ended('b', usd(0.04)))()), {
    code: 'internal_error',
    sentence: 'Turn b never ran, so nothing can be charged for it.',
  })
  t.is(left(await ledger.settle(ended('nobody', usd(0.04)))()).code, 'internal_error')
  t.like(await state({ instance: 'worker' }), { spentMicroUsd: usd(0.04), heldMicroUsd: 0 })
})

test('what a turn was charged by stands in its row, whatever it was, and is told again by a second settle', async t => {
  const { ledger, store, clock } = await openDesk(t)
  for (const basis of ['reported', 'priced', 'none', 'unknown'] as const) {
    right(await ledger.enter(entry(basis), true)())
    right(await ledger.settle(ended(basis, 0, basis))())
    t.is(right(await turnRecord(store, clock.nowMs, basis)())?.basis, basis)
    t.is(right(await ledger.settle(ended(basis, usd(1)))()).basis, basis)
  }
})

test('one that waits and leaves is forgotten; one that runs cannot leave', async t => {
  const { ledger, store } = await openDesk(t)
  right(await ledger.enter(entry('a'), true)())
  right(await ledger.enter(entry('b'), false)())
  right(await ledger.leave('a')())
  right(await ledger.enter(entry('still'), false)())
  right(await ledger.leave('b')())
  t.deepEqual(
    right(await turnRecords(store, { limit: 10 })()).map(({ turn }) => turn),
    ['still', 'a'],
  )
  t.deepEqual(left(await ledger.hold(entry('b'))()), {
    code: 'cancelled',
    sentence: 'The talk does not wait for worker any more.',
  })
  const limits = budget({ turns: 1 })
  right(await ledger.enter(entry('c', { limits, instance: 'other' }), true)())
  t.is(
    left(await ledger.hold(entry('d', { limits, instance: 'other' }))()).code,
    'cancelled',
    'also where nothing is left',
  )
})

test('one that waited finds the budget used up: refused, no row', async t => {
  const { ledger, store } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) })
  right(await ledger.enter(entry('a', { limits }), true)())
  t.deepEqual(right(await ledger.enter(entry('b', { limits }), false)()), { state: 'waiting', for: 'slot' })
  right(await ledger.settle(ended('a', usd(1)))())
  t.is(left(await ledger.hold(entry('b', { limits }))()).code, 'budget_exhausted')
  t.is(right(await turnRecords(store, { limit: 10 })()).length, 1)
})

test('the limit over all instances binds each of them', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = { total: { microUsd: usd(1), per: 'total' } } as const
  await charge(ledger, entry('a', { instance: 'one', limits }), usd(0.7))
  t.deepEqual(right(await ledger.enter(entry('b', { instance: 'two', limits }), true)()), {
    state: 'running',
    allowance: { microUsd: usd(0.3) },
  })
  right(await ledger.settle(ended('b', usd(0.3)))())
  t.is(left(await ledger.enter(entry('c', { instance: 'three', limits }), true)()).code, 'budget_exhausted')
  t.like(await state({ instance: 'one' }), { spentMicroUsd: usd(0.7) })
  t.like(await state({ instance: '*' }), { spentMicroUsd: usd(1), turns: 2 })
})

test('tokens and turns are limits too', async t => {
  const { ledger } = await openDesk(t)
  const limits = budget({ tokens: 1000, turns: 2 }, { maxTurnTokens: 600 })
  t.deepEqual(right(await ledger.enter(entry('a', { limits }), true)()), {
    state: 'running',
    allowance: { tokens: 600 },
  })
  right(await ledger.settle(ended('a', 0, 'priced', 'success', 300))())
  t.deepEqual(right(await ledger.enter(entry('b', { limits }), true)()), {
    state: 'running',
    allowance: { tokens: 600 },
  })
  t.is(right(await ledger.enter(entry('c', { limits }), true)()).state, 'waiting')
  const settled = right(await ledger.settle(ended('b', 0, 'priced', 'success', 550))())
  t.is(settled.warning, 'Budget of worker: 2 turns used of 2 (total).')
  t.is(left(await ledger.hold(entry('c', { limits }))()).code, 'budget_exhausted')
})

test('a turn that succeeded has told its tokens, one that was cut is charged what it held', async t => {
  const { ledger, state } = await openDesk(t)
  const limits = budget({ tokens: 1000 }, { maxTurnTokens: 400 })
  const tokens = async (turn: string, outcome: string): Promise<number> => {
    right(await ledger.enter(entry(turn, { limits }), true)())
    right(await ledger.settle(ended(turn, 0, 'unknown', outcome, 50))())
    return (await state({ instance: 'worker' })).tokens
  }
  t.is(await tokens('a', 'success'), 50)
  t.is(await tokens('b', 'timeout'), 450)
})

test('its deadline is the earlier of how long it may run and when it must be over', async t => {
  const { ledger, clock } = await openDesk(t)
  const deadline = async (turn: string, more: Partial<Entry>) => {
    right(await ledger.enter(entry(turn, more), true)())
    return right(await ledger.proved(`digest of ${turn}`)())?.deadlineAtMs
  }
  const inMs = (ms: number) => clock.nowMs + ms
  t.is(await deadline('a', { timeoutMs: 1000 }), inMs(1000))
  t.is(await deadline('b', { latestEndMs: inMs(700) }), inMs(700))
  t.is(await deadline('c', { timeoutMs: 1000, latestEndMs: inMs(700) }), inMs(700))
  t.is(await deadline('d', { timeoutMs: 500, latestEndMs: inMs(700) }), inMs(500))
  t.is(await deadline('e', {}), undefined)
})

test('a refusal by an empty budget and a wait that goes on write nothing', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const refusesToWrite: Store = { ...store, write: () => TE.left(failure('internal_error', 'It was written to.')) }
  const reader = createLedger(refusesToWrite, { now: () => clock.nowMs })
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.5) })
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.enter(entry('b', { limits, thread: 't' }), true)())
  right(await ledger.enter(entry('c', { limits, thread: 't' }), false)())
  right(await ledger.enter(entry('d', { limits }), false)())
  t.deepEqual(right(await reader.hold(entry('c', { limits, thread: 't' }))()), { state: 'waiting', for: 'thread' })
  t.deepEqual(right(await reader.hold(entry('d', { limits }))()), { state: 'waiting', for: 'money' })
  right(await ledger.settle(ended('a', usd(0.1)))())
  t.is(left(await reader.hold(entry('d', { limits }))()).sentence, 'It was written to.', 'what would run is written')
  await charge(ledger, entry('e', { limits }), usd(1))
  t.is(left(await reader.enter(entry('f', { limits }), true)()).code, 'budget_exhausted')
  t.is(
    left(await ledger.hold(entry('c', { limits, thread: 't' }))()).code,
    'budget_exhausted',
    'whoever is on its thread',
  )
})

test('from 80 % on a settle warns, of the fullest budget', async t => {
  const { ledger } = await openDesk(t)
  const limits = { budget: { microUsd: usd(1), per: 'day' }, total: { microUsd: usd(10), per: 'month' } } as const
  right(await ledger.enter(entry('a', { limits }), true)())
  t.false('warning' in right(await ledger.settle(ended('a', usd(0.79)))()))
  right(await ledger.enter(entry('b', { limits }), true)())
  t.is(right(await ledger.settle(ended('b', usd(0.06)))()).warning, 'Budget of worker: $0.8500 used of $1.00 (day).')
})

test('one root has so many turns and no more, whoever makes them', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(entry('root', { maxTurnsPerRoot: 3 }), true)())
  const child = (turn: string) => entry(turn, { root: 'root', parent: 'root', instance: turn, maxTurnsPerRoot: 3 })
  right(await ledger.enter(child('b'), true)())
  right(await ledger.settle(ended('b', 0))())
  right(await ledger.enter(child('c'), true)())
  const refusal = left(await ledger.enter(child('d'), true)())
  t.is(refusal.code, 'turns_exhausted')
  t.is(
    setIn('/x/budgets.json')(refusal).sentence,
    'Turns exhausted: 3 of 3 under one root. It is the maxTurnsPerRoot of d. It is set in /x/budgets.json.',
  )
  t.is(right(await ledger.enter(entry('another', { instance: 'd', maxTurnsPerRoot: 3 }), true)()).state, 'running')
  const below = entry('e', { root: 'another', parent: 'another', instance: 'e', maxTurnsPerRoot: 2 })
  t.is(right(await ledger.enter(below, true)()).state, 'running', 'those of another root are not counted')
})

test('a token proves its turn while that runs, and a turn that ended can make no more talks', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(entry('a', { depth: 2 }), false)())
  t.is(right(await ledger.proved('digest of a')()), undefined, 'not while it waits')
  right(await ledger.hold(entry('a'))())
  t.deepEqual(right(await ledger.proved('digest of a')()), {
    turn: 'a',
    root: 'a',
    instance: 'worker',
    depth: 2,
    owner: 'host',
  })
  t.is(right(await ledger.proved('digest of b')()), undefined)
  right(await ledger.enter(entry('b', { root: 'a', parent: 'a', instance: 'other' }), true)())
  right(await ledger.enter(entry('later', { root: 'a', parent: 'a', instance: 'third' }), true)())
  t.deepEqual(right(await ledger.children('a')()), ['b', 'later'])
  right(await ledger.settle(ended('later', 0))())
  right(await ledger.settle(ended('b', 0))())
  t.deepEqual(right(await ledger.children('a')()), [])
  right(await ledger.ending('a')())
  t.is(right(await ledger.proved('digest of a')()), undefined)
  for (const parent of ['a', 'nobody'])
    t.deepEqual(left(await ledger.enter(entry('c', { root: 'a', parent }), true)()), {
      code: 'auth_failed',
      sentence: 'The turn that this talk comes from has ended, and its token with it.',
    })
  right(await ledger.settle(ended('a', 0))())
  t.is(right(await ledger.proved('digest of a')()), undefined)
})

test('what a host left open is found and settled, what waited there is dropped', async t => {
  const { ledger, store, state } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.2) })
  right(await ledger.enter(entry('a', { limits, owner: 'dead' }), true)())
  right(await ledger.started('a', { pid: 4711, startTime: '99' })())
  right(await ledger.seen('a', usd(0.05), 10)())
  right(await ledger.enter(entry('b', { limits, owner: 'dead' }), true)())
  right(await ledger.ending('b')())
  right(await ledger.enter(entry('c', { limits, owner: 'dead' }), false)())
  right(await ledger.enter(entry('d', { limits, owner: 'alive' }), true)())
  right(await ledger.enter(entry('e', { owner: 'alive' }), false)())
  const open = [
    { turn: 'a', instance: 'worker', process: { pid: 4711, startTime: '99' } },
    { turn: 'b', instance: 'worker' },
  ]
  t.deepEqual(right(await leftOpen(store, ['dead', 'never was'])()), open)
  t.is(right(await turnRecords(store, { limit: 10 })()).length, 5, 'a look drops nothing')
  t.deepEqual(right(await ledger.abandoned(['dead', 'never was'])()), open)
  right(await ledger.settleAbandoned(['a', 'b', 'a', 'c', 'nobody'])())
  t.deepEqual(right(await ledger.abandoned(['dead'])()), [])
  t.deepEqual(right(await leftOpen(store, ['dead'])()), [])
  t.deepEqual(right(await lastEnded(store, ['dead'])()).toSorted(), ['a', 'b'])
  t.deepEqual(right(await lastEnded(store, ['alive'])()), [])
  t.like(await state({ instance: 'worker' }), {
    spentMicroUsd: usd(0.4),
    heldMicroUsd: usd(0.2),
    turns: 2,
    unknownTurns: 2,
  })
  const records = right(await turnRecords(store, { limit: 10 })())
  t.deepEqual(
    records.map(({ turn, outcome, basis, error }) => [turn, outcome, basis, error]),
    [
      ['e', undefined, undefined, undefined],
      ['d', undefined, undefined, undefined],
      ['b', 'cancelled', 'unknown', 'The process that hosted this turn ended in the middle of it.'],
      ['a', 'cancelled', 'unknown', 'The process that hosted this turn ended in the middle of it.'],
    ],
  )
})

test('a refusal for an empty budget writes nothing and is quick', async t => {
  const { ledger } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { total: { microUsd: usd(50), per: 'day' } })
  await charge(ledger, entry('a', { limits }), usd(1))
  const refuse = ledger.enter(entry('b', { limits }), true)
  for (let at = 0; at < 2000; at += 1) await refuse()
  const startMs = performance.now()
  for (let at = 0; at < 2000; at += 1) await refuse()
  const eachMs = (performance.now() - startMs) / 2000
  t.log(`${(eachMs * 1000).toFixed(1)} µs`)
  t.true(eachMs < 1, 'far less than a transaction on a disk')
})

test('whatever turns say, and however much they may hold, the sums stay readable', async t => {
  const { ledger, state } = await openDesk(t)
  const endless = budget({ microUsd: usd(1e9), tokens: Number.MAX_SAFE_INTEGER })
  for (let turn = 0; turn < 12; turn++) {
    const one = entry(`t${turn}`, { limits: turn % 2 === 0 ? endless : {} })
    right(await ledger.enter(one, true)())
    right(await ledger.seen(one.turn, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)())
    const basis = turn % 3 === 0 ? 'unknown' : 'reported'
    right(await ledger.settle(ended(one.turn, Number.MAX_SAFE_INTEGER, basis, 'success', Number.MAX_SAFE_INTEGER))())
  }
  const { spentMicroUsd, tokens, turns } = await state({ instance: 'worker' })
  t.deepEqual([spentMicroUsd, tokens, turns], [6 * maxTurnMicroUsd, 6 * maxTurnTokens, 12])
})
