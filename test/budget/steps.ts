import fc from 'fast-check'
import type { Limits } from '../../src/budget/budget.ts'
import { usd } from './desk.ts'
import type { PlainEnd, PlainLimit } from './plain-money.ts'

/** What may happen to a ledger; numbers choose among what there is at that moment. */
export type Name = 'A' | 'B' | 'C'

export type Step =
  | { readonly what: 'enter'; readonly instance: Name; readonly owner: 'p' | 'q'; readonly ofWork: boolean }
  | { readonly what: 'retry' | 'leave'; readonly which: number }
  | { readonly what: 'forgive'; readonly which: number }
  | { readonly what: 'see'; readonly which: number; readonly microUsd: number; readonly tokens: number }
  | { readonly what: 'settle'; readonly which: number; readonly end: PlainEnd }
  | { readonly what: 'crash'; readonly owner: 'p' | 'q' }
  | { readonly what: 'add' | 'reset'; readonly which: number; readonly microUsd: number }
  | { readonly what: 'clock'; readonly byMs: number }

const which = fc.nat(1000)
const someUsd = fc.oneof(fc.nat(usd(0.3)), fc.constant(0), fc.nat(100), fc.integer({ min: usd(0.3), max: usd(3) }))
const someTokens = fc.oneof(fc.nat(400), fc.constant(0), fc.nat(5000))
const owner = fc.constantFrom('p', 'q')
const end = fc.record({
  microUsd: someUsd,
  tokens: someTokens,
  basis: fc.constantFrom('reported', 'reported', 'priced', 'none', 'unknown', 'unknown'),
  success: fc.boolean(),
})

const hourMs = 60 * 60 * 1000
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      what: fc.constant('enter'),
      instance: fc.constantFrom('A', 'B', 'C'),
      owner,
      ofWork: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('retry'), which }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('leave'), which }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('forgive'), which }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('see'), which, microUsd: someUsd, tokens: someTokens }) },
  { weight: 8, arbitrary: fc.record({ what: fc.constant('settle'), which, end }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('crash'), owner }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('add'), which, microUsd: fc.integer({ min: 1, max: usd(1) }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('reset'), which, microUsd: fc.constant(0) }) },
  // Also back: clocks are set.
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('clock'), byMs: fc.integer({ min: -2 * hourMs, max: 14 * hourMs }) }),
  },
)

/** Around these, somewhere, a day has 23, 25, 23½ or 24½ hours, begins at one o'clock, or never was. */
const moments = [
  '2026-03-07T12:00Z',
  '2026-03-28T12:00Z',
  '2026-04-04T06:00Z',
  '2026-04-23T14:00Z',
  '2026-10-03T06:00Z',
  '2026-10-24T12:00Z',
  '2026-10-31T12:00Z',
  '2026-12-31T00:00Z',
  '2011-12-29T20:00Z',
].map(text => Date.parse(text))

export const sequences: fc.Arbitrary<[startMs: number, steps: Step[]]> = fc.tuple(
  fc.constantFrom(...moments),
  fc.array(step, { minLength: 1, maxLength: 80 }),
)

export const limitsOf: Readonly<Record<Name, readonly PlainLimit[]>> = {
  A: [{ scope: 'A', per: 'day', microUsd: usd(1), turns: 7 }],
  B: [{ scope: 'B', per: 'month', microUsd: usd(2), tokens: 3000 }],
  C: [],
}
export const everywhere: PlainLimit = { scope: '*', per: 'total', microUsd: usd(6), tokens: 12_000, turns: 40 }
export const work: PlainLimit = { scope: 'root:work', per: 'total', microUsd: usd(1.5) }
export const caps = { A: { microUsd: usd(0.3) }, B: { microUsd: usd(0.4), tokens: 500 }, C: { tokens: 800 } } as const

const budgetOf = ({ scope: _, ...budget }: PlainLimit) => budget
export const fileLimits = (instance: Name): Limits => {
  const [own] = limitsOf[instance]
  const { microUsd, tokens }: { readonly microUsd?: number; readonly tokens?: number } = caps[instance]
  return {
    ...(own ? { budget: budgetOf(own) } : {}),
    total: budgetOf(everywhere),
    ...(microUsd === undefined ? {} : { maxTurnMicroUsd: microUsd }),
    ...(tokens === undefined ? {} : { maxTurnTokens: tokens }),
  }
}
