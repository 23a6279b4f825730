import test from 'ava'
import * as io from 'io-ts/lib/index.js'
import { forgiveTurn, resetBudget } from '../../src/budget/corrections.ts'
import { addCredit } from '../../src/budget/credits.ts'
import { turnRecord, turnRecords } from '../../src/budget/turns.ts'
import { integerColumn, textColumn } from '../../src/store/columns.ts'
import { left, right } from '../store/folder.ts'
import { budget, ended, entry, openDesk, usd } from './desk.ts'

const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.4) })
const worker = { instance: 'worker', budget: { microUsd: usd(1), per: 'total' } } as const

test('what was held is not reset, and is settled into the new count', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.settle(ended('a', usd(0.3)))())
  right(await ledger.enter(entry('b', { limits }), true)())
  right(await resetBudget(store, clock.nowMs, { scope: 'worker', per: 'total' })())
  t.like(await state(worker), { spentMicroUsd: 0, heldMicroUsd: usd(0.4), turns: 0 })
  right(await ledger.settle(ended('b', usd(0.1)))())
  t.like(await state(worker), { spentMicroUsd: usd(0.1), heldMicroUsd: 0, turns: 1 })
})

test('a turn from before a reset gives back nothing there, whatever the clock did in between', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.settle(ended('a', usd(0.1), 'unknown', 'timeout'))())
  t.like(await state(worker), { spentMicroUsd: usd(0.4), unknownTurns: 1 })
  clock.nowMs -= 60_000
  for (const scope of ['worker', '*'])
    for (const per of ['total', 'month', 'day'] as const) right(await resetBudget(store, clock.nowMs, { scope, per })())
  right(await ledger.enter(entry('b', { limits }), true)())
  right(await ledger.settle(ended('b', usd(0.3)))())
  t.regex(left(await forgiveTurn(store, clock.nowMs, 'a')()).sentence, /were reset since/)
  t.like(await state(worker), { spentMicroUsd: usd(0.3) })
})

test('a reset begins everything of its window anew, and nothing of another', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.settle(ended('a', usd(0.1), 'unknown', 'timeout', 70))())
  for (const per of ['day', 'month'] as const)
    right(await addCredit(store, clock.nowMs, { scope: 'worker', microUsd: usd(2), per })())
  right(await resetBudget(store, clock.nowMs, { scope: 'worker', per: 'day' })())
  const of = (per: 'day' | 'month') => state({ instance: 'worker', budget: { microUsd: usd(1), per } })
  const zero = { spentMicroUsd: 0, limitMicroUsd: usd(1), tokens: 0, turns: 0, unknownTurns: 0 }
  t.like(await of('day'), zero)
  t.like(await of('month'), { spentMicroUsd: usd(0.4), limitMicroUsd: usd(3), tokens: 70, turns: 1, unknownTurns: 1 })
})

test('neither a reset from before it, nor money that was added since, nor another turn stands in the way', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  const reset = async () => right(await resetBudget(store, clock.nowMs, { scope: 'worker', per: 'total' })())
  await reset()
  await reset()
  for (const [turn, seen] of [
    ['a', 0.1],
    ['b', 0.2],
  ] as const) {
    right(await ledger.enter(entry(turn, { limits }), true)())
    right(await ledger.settle(ended(turn, usd(seen), 'unknown', 'timeout'))())
  }
  right(await addCredit(store, clock.nowMs, { scope: 'worker', microUsd: usd(2), per: 'total' })())
  t.is(right(await forgiveTurn(store, clock.nowMs, 'a')()).microUsd, usd(0.3))
  t.like(await state(worker), { spentMicroUsd: usd(0.5), unknownTurns: 1 })
  t.is(right(await forgiveTurn(store, clock.nowMs, 'b')()).microUsd, usd(0.2))
  t.like(await state(worker), { spentMicroUsd: usd(0.3), unknownTurns: 0 })
  t.deepEqual(
    right(await turnRecords(store, { limit: 10 })()).map(({ turn, forgivenMicroUsd }) => [turn, forgivenMicroUsd]),
    [
      ['b', usd(0.2)],
      ['a', usd(0.3)],
    ],
  )
})

test('where only one window was reset, the others get it back', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.settle(ended('a', usd(0.1), 'unknown', 'timeout'))())
  right(await resetBudget(store, clock.nowMs, { scope: 'worker', per: 'day' })())
  t.like(right(await forgiveTurn(store, clock.nowMs, 'a')()), { microUsd: usd(0.3) })
  t.like(await state(worker), { spentMicroUsd: usd(0.1), unknownTurns: 0 })
  t.like(await state({ instance: 'worker', budget: { per: 'day' } }), { spentMicroUsd: 0 })
})

test('a turn that runs is not forgiven', async t => {
  const { ledger, store, clock } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  t.deepEqual(left(await forgiveTurn(store, clock.nowMs, 'a')()), {
    code: 'invalid_request',
    sentence: 'Turn a has not ended, so it was charged nothing yet.',
  })
  t.is(left(await forgiveTurn(store, clock.nowMs, 'none')()).code, 'invalid_request')
  right(await ledger.enter(entry('waits', { limits }), false)())
  t.is(left(await forgiveTurn(store, clock.nowMs, 'waits')()).code, 'invalid_request')
})

test('a turn is forgiven once, and only where nobody can tell what it cost', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  const capped = budget({ microUsd: usd(1), tokens: 1000 }, { maxTurnMicroUsd: usd(0.4), maxTurnTokens: 500 })
  const forgive = (turn: string) => forgiveTurn(store, clock.nowMs, turn)()
  right(await ledger.enter(entry('known', { limits: capped }), true)())
  right(await ledger.settle(ended('known', usd(0.1)))())
  t.is(
    left(await forgive('known')).sentence,
    'What turn known cost is known (reported), so there is nothing to forgive.',
  )
  right(await ledger.enter(entry('cut', { limits: capped }), true)())
  right(await ledger.seen('cut', usd(0.05), 120)())
  right(await ledger.settle(ended('cut', usd(0.05), 'unknown', 'timeout', 120))())
  t.like(await state(worker), { spentMicroUsd: usd(0.5), tokens: 500, unknownTurns: 1 })
  t.deepEqual(right(await forgive('cut')), { turn: 'cut', instance: 'worker', microUsd: usd(0.35), tokens: 380 })
  t.is(left(await forgive('cut')).sentence, 'Turn cut was forgiven already.')
  t.like(await state(worker), { spentMicroUsd: usd(0.15), tokens: 120, unknownTurns: 0 })
  t.is(right(await turnRecord(store, clock.nowMs, 'cut')())?.forgivenMicroUsd, usd(0.35))
})

test('what was charged no more than was seen gives nothing back, and takes nothing', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  right(await ledger.seen('a', usd(0.5), 300)())
  right(await ledger.settle(ended('a', usd(0.5), 'unknown', 'timeout', 100))())
  t.like(right(await forgiveTurn(store, clock.nowMs, 'a')()), { microUsd: 0, tokens: 0 })
  t.like(await state(worker), { spentMicroUsd: usd(0.5), tokens: 300, unknownTurns: 0 })
})

test('the history tells what a reset and a forgiven turn took off the count', async t => {
  const { ledger, store, clock } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits: budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.4) }) }), true)())
  right(await ledger.settle(ended('a', usd(0.1), 'unknown', 'timeout', 70))())
  right(await addCredit(store, clock.nowMs, { scope: 'worker', microUsd: usd(2), per: 'day', note: 'for the week' })())
  right(await resetBudget(store, clock.nowMs, { scope: 'worker', per: 'day' })())
  right(await forgiveTurn(store, clock.nowMs, 'a')())
  const history = right(await store.read(sql => sql.all(creditRow, 'SELECT * FROM credits ORDER BY number'))())
  t.deepEqual(
    history.map(({ kind, scope, window, microUsd, tokens, turns, turn, note }) => [
      ...[kind, scope, window, microUsd, tokens, turns, turn, note],
    ]),
    [
      ['add', 'worker', '2026-12-01', usd(2), 0, 0, undefined, 'for the week'],
      ['reset', 'worker', '2026-12-01', -usd(0.4), -70, -1, undefined, 'spent $0.4000, added $2.0000'],
      ['forgive', 'worker', 'total', -usd(0.3), -70, 0, 'a', undefined],
      ['forgive', 'worker', '2026-12', -usd(0.3), -70, 0, 'a', undefined],
      ['forgive', '*', 'total', -usd(0.3), -70, 0, 'a', undefined],
      ['forgive', '*', '2026-12', -usd(0.3), -70, 0, 'a', undefined],
      ['forgive', '*', '2026-12-01', -usd(0.3), -70, 0, 'a', undefined],
    ],
  )
})

const creditRow = io.intersection([
  io.type({ kind: textColumn, scope: textColumn, window: textColumn }),
  io.type({ microUsd: integerColumn, tokens: integerColumn, turns: integerColumn }),
  io.partial({ turn: textColumn, note: textColumn }),
])
