import test from 'ava'
import { windowsOf } from '../../src/budget/windows.ts'
import { startChild } from '../store/child.ts'
import { left, right } from '../store/folder.ts'
import { charge, ended, entry, openDesk, usd } from './desk.ts'

const at = (...date: [year: number, month: number, day: number, hour: number, minute: number]): number =>
  new Date(...date).getTime()

test('a day and a month begin at midnight of the machine', t => {
  t.deepEqual(windowsOf(at(2026, 10, 30, 23, 59)), { total: 'total', month: '2026-11', day: '2026-11-30' })
  t.deepEqual(windowsOf(at(2026, 11, 1, 0, 0)), { total: 'total', month: '2026-12', day: '2026-12-01' })
  t.deepEqual(windowsOf(at(2027, 0, 1, 0, 0)), { total: 'total', month: '2027-01', day: '2027-01-01' })
})

for (const [per, before, after] of [
  ['day', at(2026, 11, 1, 23, 59), at(2026, 11, 2, 0, 0)],
  ['month', at(2026, 11, 31, 23, 59), at(2027, 0, 1, 0, 0)],
] as const) {
  test(`a new ${per} begins with nothing spent, and no hold of the old one`, async t => {
    const { ledger, clock, state } = await openDesk(t)
    const limits = { budget: { microUsd: usd(1), per }, maxTurnMicroUsd: usd(0.4) } as const
    clock.nowMs = before
    await charge(ledger, entry('a', { limits }), usd(0.6))
    right(await ledger.enter(entry('b', { limits }), true)())
    t.is(right(await ledger.enter(entry('c', { limits }), true)()).state, 'waiting')
    clock.nowMs = after
    t.is(right(await ledger.hold(entry('c', { limits }))()).state, 'running', 'it may wait no longer')
    right(await ledger.settle(ended('b', usd(0.4)))())
    right(await ledger.settle(ended('c', usd(0.1)))())
    t.like(await state({ instance: 'worker', ...limits }), { spentMicroUsd: usd(0.1), heldMicroUsd: 0 })
    clock.nowMs = before
    t.like(await state({ instance: 'worker', ...limits }), { spentMicroUsd: usd(1), heldMicroUsd: 0 })
    t.is(left(await ledger.enter(entry('d', { limits }), true)()).code, 'budget_exhausted')
    t.like(await state({ instance: 'worker' }), { spentMicroUsd: usd(1.1), heldMicroUsd: 0, turns: 3 })
  })
}

test('another "per" in the file tells the truth of its own window', async t => {
  const { ledger, clock, state } = await openDesk(t)
  clock.nowMs = at(2026, 11, 1, 10, 0)
  const perDay = { budget: { microUsd: usd(1), per: 'day' } } as const
  await charge(ledger, entry('a', { limits: perDay }), usd(0.9))
  clock.nowMs = at(2026, 11, 2, 10, 0)
  await charge(ledger, entry('b', { limits: perDay }), usd(0.3))
  const perMonth = { budget: { microUsd: usd(1), per: 'month' } } as const
  t.regex(left(await ledger.enter(entry('c', { limits: perMonth }), true)()).sentence, /\$1\.2000 used of \$1\.00/)
  t.like(await state({ instance: 'worker', ...perMonth }), { window: '2026-12', spentMicroUsd: usd(1.2) })
  t.like(await state({ instance: 'worker', ...perDay }), { window: '2026-12-02', spentMicroUsd: usd(0.3) })
})

test('days of 23 and 25 hours are whole days, in the time zone of the machine', async t => {
  const windows = async (zone: string, ...times: readonly string[]): Promise<readonly string[]> =>
    JSON.parse(await startChild(t, new URL('programs/days.ts', import.meta.url), times, { TZ: zone }).line())
  t.deepEqual(
    await windows(
      'Europe/Berlin',
      '2026-03-28T22:59:59Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T21:59:59Z',
      '2026-03-29T22:00:00Z',
      '2026-10-24T22:00:00Z',
      '2026-10-25T22:59:59Z',
      '2026-10-25T23:00:00Z',
    ),
    ['2026-03-28', '2026-03-29', '2026-03-29', '2026-03-30', '2026-10-25', '2026-10-25', '2026-10-26'],
  )
  t.deepEqual(await windows('Pacific/Kiritimati', '2026-12-31T10:00:00Z'), ['2027-01-01'])
  t.deepEqual(await windows('America/Los_Angeles', '2027-01-01T07:59:59Z'), ['2026-12-31'])
})
