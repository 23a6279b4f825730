import test from 'ava'
import { forgiveTurn, resetBudget } from '../../src/budget/corrections.ts'
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
  t.is(left(await forgiveTurn(store, clock.nowMs, 'a')()).code, 'invalid_request')
  t.is(left(await forgiveTurn(store, clock.nowMs, 'none')()).code, 'invalid_request')
})
