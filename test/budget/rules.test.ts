import test from 'ava'
import type { Budget, Limits } from '../../src/budget/budget.ts'
import { type Balance, chargeOf, fullest, judge, type Scope } from '../../src/budget/rules.ts'
import { maxTurnMicroUsd, maxTurnTokens, microUsdFrom } from '../../src/protocol/money.ts'
import { usd } from './desk.ts'

const empty: Balance = {
  spentMicroUsd: 0,
  heldMicroUsd: 0,
  creditMicroUsd: 0,
  tokens: 0,
  heldTokens: 0,
  turns: 0,
  heldTurns: 0,
  unknownTurns: 0,
}

const scope = (budget: Omit<Budget, 'per'>, balance: Partial<Balance> = {}, instance = 'worker'): Scope => ({
  instance,
  budget: { ...budget, per: 'total' },
  window: 'total',
  balance: { ...empty, ...balance },
})

test('what is left, held or exhausted, in each dimension', t => {
  const rows: readonly [string, Omit<Budget, 'per'>, Partial<Balance>, 'left' | 'held' | 'exhausted'][] = [
    ['no limit', {}, { spentMicroUsd: usd(1e6), tokens: 1e9, turns: 1e6 }, 'left'],
    ['0 blocks dollars', { microUsd: 0 }, {}, 'exhausted'],
    ['0 blocks tokens', { tokens: 0 }, {}, 'exhausted'],
    ['0 blocks turns', { turns: 0 }, {}, 'exhausted'],
    ['a micro-dollar left', { microUsd: usd(1) }, { spentMicroUsd: usd(1) - 1 }, 'left'],
    ['exactly used', { microUsd: usd(1) }, { spentMicroUsd: usd(1) }, 'exhausted'],
    ['past it', { microUsd: usd(1) }, { spentMicroUsd: usd(1.2) }, 'exhausted'],
    ['held', { microUsd: usd(1) }, { spentMicroUsd: usd(0.4), heldMicroUsd: usd(0.6) }, 'held'],
    ['a credit', { microUsd: usd(1) }, { spentMicroUsd: usd(1.2), creditMicroUsd: usd(0.3) }, 'left'],
    ['a credit on 0', { microUsd: 0 }, { creditMicroUsd: 1 }, 'left'],
    ['tokens used', { tokens: 10 }, { tokens: 10 }, 'exhausted'],
    ['tokens held', { tokens: 10 }, { tokens: 9, heldTokens: 1 }, 'held'],
    ['turns used', { turns: 2 }, { turns: 2 }, 'exhausted'],
    ['turns held', { turns: 2 }, { turns: 1, heldTurns: 1 }, 'held'],
    ['dollars left, tokens not', { microUsd: usd(1), tokens: 5 }, { tokens: 6 }, 'exhausted'],
  ]
  for (const [what, budget, balance, kind] of rows) t.is(judge([scope(budget, balance)], {}).kind, kind, what)
})

test('a hold is the least of the cap of a turn and what is left in either scope', t => {
  const own = scope({ microUsd: usd(1), tokens: 100 }, { spentMicroUsd: usd(0.3), heldMicroUsd: usd(0.1) })
  const all = scope({ microUsd: usd(5) }, { spentMicroUsd: usd(4.5) }, '*')
  const hold = (scopes: readonly Scope[], limits: Limits) => {
    const verdict = judge(scopes, limits)
    return verdict.kind === 'left' ? verdict.allowance : verdict.kind
  }
  t.deepEqual(hold([own, all], {}), { microUsd: usd(0.5), tokens: 100 })
  t.deepEqual(hold([own], {}), { microUsd: usd(0.6), tokens: 100 })
  t.deepEqual(hold([own, all], { maxTurnMicroUsd: usd(0.25), maxTurnTokens: 10 }), { microUsd: usd(0.25), tokens: 10 })
  t.deepEqual(hold([], { maxTurnMicroUsd: usd(0.25) }), { microUsd: usd(0.25) })
  t.deepEqual(hold([], {}), {})
  const endless = scope({ microUsd: usd(1e9), tokens: Number.MAX_SAFE_INTEGER })
  const most = { microUsd: maxTurnMicroUsd, tokens: maxTurnTokens }
  t.deepEqual(hold([endless], {}), most, 'more than a turn can be said to cost is never held')
  t.deepEqual(hold([endless], { maxTurnMicroUsd: usd(1e9), maxTurnTokens: Number.MAX_SAFE_INTEGER }), most)
})

test('the fullest limit is that with the greatest share used, from exactly 80 % on', t => {
  const own = (dollars: number) => scope({ microUsd: usd(1) }, { spentMicroUsd: usd(dollars) })
  const all = scope({ microUsd: usd(10), turns: 100 }, { spentMicroUsd: usd(8.5), turns: 84 }, '*')
  t.is(fullest([own(0.8)])?.scope.instance, 'worker')
  t.is(fullest([own(0.799999)]), undefined)
  t.is(fullest([all, own(0.9)])?.scope.instance, 'worker')
  t.is(fullest([own(0.9), all])?.scope.instance, 'worker')
  t.like(fullest([own(0.84), all]), { dimension: 'microUsd', limit: usd(10) })
  t.is(fullest([]), undefined)
})

const limited: Limits = { budget: { microUsd: usd(1), tokens: 1000, per: 'total' } }
const spent = {
  limits: limited,
  held: { microUsd: usd(0.25), tokens: 400 },
  cost: { microUsd: usd(0.1), basis: 'reported' as const },
  tokens: 50,
  seenMicroUsd: 0,
  seenTokens: 0,
  succeeded: true,
}

test('a cost that is told is charged, also past the hold', t => {
  t.deepEqual(chargeOf(spent), { microUsd: usd(0.1), basis: 'reported', tokens: 50 })
  t.deepEqual(chargeOf({ ...spent, cost: { microUsd: usd(0.9), basis: 'priced' }, tokens: 5000, succeeded: false }), {
    microUsd: usd(0.9),
    basis: 'priced',
    tokens: 5000,
  })
  t.deepEqual(chargeOf({ ...spent, cost: { microUsd: 0, basis: 'none' }, tokens: 0, succeeded: false }), {
    microUsd: 0,
    basis: 'none',
    tokens: 0,
  })
  t.is(
    chargeOf({ ...spent, cost: { microUsd: 5, basis: 'none' } }).microUsd,
    0,
    'without model work nothing is charged',
  )
})

test('a cost that nobody can tell is the hold, or what was seen if that is more; without a limit it counts 0', t => {
  const cut = { ...spent, cost: { microUsd: usd(0.02), basis: 'unknown' as const }, tokens: 7, succeeded: false }
  t.deepEqual(chargeOf(cut), { microUsd: usd(0.25), basis: 'unknown', tokens: 400 })
  t.deepEqual(chargeOf({ ...cut, seenMicroUsd: usd(0.3), seenTokens: 900 }), {
    microUsd: usd(0.3),
    basis: 'unknown',
    tokens: 900,
  })
  t.deepEqual(chargeOf({ ...cut, limits: { total: limited.budget ?? { per: 'total' } } }).microUsd, usd(0.25))
  t.deepEqual(chargeOf({ ...cut, limits: { maxTurnMicroUsd: usd(0.25) } }), {
    microUsd: 0,
    basis: 'unknown',
    tokens: 7,
  })
  const inTurns = { ...cut, limits: { budget: { turns: 3, per: 'total' }, maxTurnMicroUsd: usd(0.25) } } as const
  t.like(chargeOf(inTurns), { microUsd: 0, tokens: 7 }, 'where no dollars and no tokens are limited, its caps are none')
  t.is(chargeOf({ ...cut, succeeded: true }).tokens, 7, 'a model without a price has told its tokens')
  t.is(chargeOf({ ...cut, succeeded: true, tokens: 0 }).tokens, 400)
})

test('what is no number is never one: it is unknown, and gives no money back', t => {
  for (const said of [-0.5, Number.NaN, Number.POSITIVE_INFINITY, '0.40', null, undefined, true, 1e9, '1,5']) {
    const read = microUsdFrom(said)
    t.is(read, 'unknown', String(said))
  }
  for (const microUsd of [-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 1e15]) {
    const charged = chargeOf({ ...spent, cost: { microUsd, basis: 'reported' } })
    t.deepEqual(charged, { microUsd: usd(0.25), basis: 'unknown', tokens: 50 }, String(microUsd))
  }
  for (const tokens of [-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, maxTurnTokens + 1, Number.MAX_SAFE_INTEGER])
    t.is(chargeOf({ ...spent, tokens }).tokens, 400, String(tokens))
})
