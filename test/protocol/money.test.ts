import test from 'ava'
import { limitMicroUsd, microUsdFrom, showLimit, showSpent } from '../../src/protocol/money.ts'

test('dollars become integer micro-dollars, rounded up, without the drift of floats', t => {
  const rows: readonly [unknown, number | 'unknown'][] = [
    [0, 0],
    [0.07, 70_000],
    [0.00411, 4110],
    [0.1 + 0.2, 300_000],
    [1e-9, 1],
    [0.0000011, 2],
    [10_000, 10_000_000_000],
    [10_000.01, 'unknown'],
    [-0.5, 'unknown'],
    [Number.NaN, 'unknown'],
    [Number.POSITIVE_INFINITY, 'unknown'],
    ['0.40', 'unknown'],
    [null, 'unknown'],
    [undefined, 'unknown'],
    [true, 'unknown'],
  ]
  for (const [usd, expected] of rows) t.is(microUsdFrom(usd), expected, String(usd))
  t.true(Object.is(microUsdFrom(-0), 0) || microUsdFrom(-0) === 'unknown')
})

test('what was spent is shown to four places, a limit to two, and neither is rounded away', t => {
  t.is(showSpent(1_200_000), '$1.2000')
  t.is(showSpent(1), '$0.000001')
  t.is(showSpent(0), '$0.0000')
  t.is(showLimit(1_000_000), '$1.00')
  t.is(showLimit(limitMicroUsd(0.125)), '$0.125')
})
