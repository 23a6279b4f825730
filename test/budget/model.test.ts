import test from 'ava'
import type { Basis, Budget, Limits, Per } from '../../src/budget/budget.ts'
import { addCredit } from '../../src/budget/credits.ts'
import type { Entry } from '../../src/budget/ledger.ts'
import { turnRecords } from '../../src/budget/turns.ts'
import { windowsOf } from '../../src/budget/windows.ts'
import { right } from '../store/folder.ts'
import { ended, entry, openDesk, usd } from './desk.ts'
import { randomOf } from './random.ts'

interface Held {
  readonly entry: Entry
  readonly windows: Readonly<Record<Per, string>>
  readonly hold: number | undefined
}

interface Sums {
  spent: number
  held: number
  credit: number
  turns: number
  unknown: number
}

// The same money kept in plain maps, by the words of the rules and without any of their code.
for (const seed of [11, 12, 13, 14]) {
  test(`random turns against a plain model (seed ${seed})`, async t => {
    const { below, pick } = randomOf(seed)
    const { ledger, clock, state, store } = await openDesk(t)
    const own: Readonly<Record<string, Budget>> = {
      A: { microUsd: usd(3), per: 'day' },
      B: { microUsd: usd(5), turns: 60, per: 'month' },
    }
    const all: Budget = { microUsd: usd(12), per: 'total' }
    const limitsOf = (name: string): Limits => ({
      ...(own[name] ? { budget: own[name] } : {}),
      total: all,
      ...(name === 'C' ? {} : { maxTurnMicroUsd: usd(0.4) }),
    })
    const sums = new Map<string, Sums>()
    const sumsOf = (scope: string, window: string): Sums => {
      const known = sums.get(`${scope} ${window}`) ?? { spent: 0, held: 0, credit: 0, turns: 0, unknown: 0 }
      sums.set(`${scope} ${window}`, known)
      return known
    }
    const each = (name: string, windows: Held['windows'], change: (sums: Sums) => void): void => {
      for (const scope of [name, '*']) for (const window of Object.values(windows)) change(sumsOf(scope, window))
    }
    const budgetsOf = (name: string): readonly (readonly [string, Budget])[] =>
      own[name]
        ? [
            [name, own[name]],
            ['*', all],
          ]
        : [['*', all]]

    const held: Held[] = []
    let made = 0
    let refused = 0
    const spends = async (): Promise<void> => {
      made += 1
      const name = pick(['A', 'B', 'C'])
      const one = entry(`t${made}`, { instance: name, limits: limitsOf(name) })
      const windows = windowsOf(clock.nowMs)
      const standing = budgetsOf(name).map(([scope, { microUsd = 0, turns, per }]) => {
        const { spent, credit, turns: done, held: kept } = sumsOf(scope, windows[per])
        const inHand = held.filter(
          h => (scope === '*' || h.entry.instance === scope) && h.windows[per] === windows[per],
        )
        return {
          out: spent >= microUsd + credit || (turns !== undefined && done >= turns),
          left: microUsd + credit - spent - kept,
          turnLeft: turns === undefined || done + inHand.length < turns,
        }
      })
      const entered = await ledger.enter(one, true)()
      if (standing.some(({ out }) => out)) {
        refused += 1
        t.is(entered._tag === 'Left' ? entered.left.code : 'entered', 'budget_exhausted')
        return
      }
      if (standing.some(({ left, turnLeft }) => left <= 0 || !turnLeft)) {
        t.deepEqual(right(entered), { state: 'waiting', for: 'money' })
        return void right(await ledger.leave(one.turn)())
      }
      const hold = Math.min(name === 'C' ? Number.POSITIVE_INFINITY : usd(0.4), ...standing.map(({ left }) => left))
      t.deepEqual(right(entered), { state: 'running', allowance: { microUsd: hold } })
      each(name, windows, sums => (sums.held += hold))
      held.push({ entry: one, windows, hold })
    }
    const settles = async (): Promise<void> => {
      const one = held.splice(below(held.length), 1)[0]
      if (one === undefined) return
      const cost = below(2) === 0 ? below(usd(0.3)) : below(100)
      const basis: Basis = pick(['reported', 'priced', 'none', 'unknown'])
      const charged = basis === 'none' ? 0 : basis === 'unknown' ? Math.max(one.hold ?? 0, cost) : cost
      t.like(right(await ledger.settle(ended(one.entry.turn, cost, basis, 'engine_cli'))()), {
        microUsd: charged,
        basis,
      })
      each(one.entry.instance, one.windows, sums => {
        sums.held -= one.hold ?? 0
        sums.spent += charged
        sums.turns += 1
        sums.unknown += basis === 'unknown' ? 1 : 0
      })
    }
    const adds = async (): Promise<void> => {
      const [scope, { per }] = pick(budgetsOf(pick(['A', 'B'])))
      const microUsd = 1 + below(usd(0.5))
      right(await addCredit(store, clock.nowMs, { scope, microUsd, per })())
      sumsOf(scope, windowsOf(clock.nowMs)[per]).credit += microUsd
    }

    for (let step = 0; step < 400; step += 1) {
      const dice = below(20)
      if (dice < 11) await spends()
      else if (dice < 17) await settles()
      else if (dice < 18) await adds()
      else clock.nowMs += below(12 * 60 * 60 * 1000)
    }
    for (const name of ['A', 'B', 'C', '*']) {
      const budget = name === '*' ? all : own[name]
      for (const per of ['total', 'month', 'day'] as const) {
        const { spent, held: kept, turns, unknown, credit } = sumsOf(name, windowsOf(clock.nowMs)[per])
        t.like(await state({ instance: name, budget: { ...budget, per } }), {
          spentMicroUsd: spent,
          heldMicroUsd: kept,
          turns,
          unknownTurns: unknown,
          ...(budget?.microUsd === undefined ? {} : { limitMicroUsd: budget.microUsd + credit }),
        })
      }
    }
    while (held.length > 0) await settles()
    t.like(await state({ instance: '*', budget: all }), { heldMicroUsd: 0 })
    const records = right(await turnRecords(store, { limit: 10_000 })())
    t.is(
      records.reduce((sum, { costMicroUsd = 0 }) => sum + costMicroUsd, 0),
      sumsOf('*', 'total').spent,
      'the rows of the turns add up to the balance',
    )
    t.true(refused > 0 && records.length > 20, `${refused} refused, ${records.length} ran`)
  })
}
