import test from 'ava'
import { budgetStates } from '../../src/budget/states.ts'
import { createBus, right, type TestBus } from '../fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'

const limits = { budget: { microUsd: 1_000_000, per: 'total' }, maxTurnMicroUsd: 100_000 } as const
const dimes = { behaviour: 'cost:0.1', limits, concurrency: 100 } as const

/** How many of `count` talks, all sent at once and in turn to these ports, came to what. */
const outcomesOf = async (ports: readonly number[], count: number): Promise<Readonly<Record<string, number>>> => {
  const outcomes: Record<string, number> = {}
  const talks = Array.from({ length: count }, async (_, at) => {
    const { json } = await send(ports[at % ports.length] ?? 0, { headers: jsonHeaders(), body: talkBody() })
    const outcome = String(Reflect.get(Object(json), 'errorCode') ?? 'success')
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  })
  await Promise.all(talks)
  return outcomes
}

const stateOf = async ({ store }: TestBus, instance: string) =>
  right(await budgetStates(store, Date.now(), [{ instance }])())[0]

const startsOf = async (bus: TestBus) => (await bus.calls()).filter(({ what }) => what === 'start').length

test('100 talks of $0.10 at once against $1.00: exactly 10 run, the ledger says exactly $1.00, the rest is refused', async t => {
  const bus = await createBus()
  const { port } = await bus.serve('worker', dimes)
  t.deepEqual(await outcomesOf([port], 100), { success: 10, budget_exhausted: 90 })
  t.is(await startsOf(bus), 10)
  t.like(await stateOf(bus, 'worker'), { spentMicroUsd: 1_000_000, heldMicroUsd: 0, turns: 10 })
  await bus.close()
})

test('the same for the budget of all together, asked by way of four instances of two hosts', async t => {
  const bus = await createBus()
  const other = await createBus({ folder: bus.folder })
  const { budget: total, maxTurnMicroUsd } = limits
  const wish = { ...dimes, limits: { total, maxTurnMicroUsd }, queueTimeoutMs: 150_000 }
  const served = [
    await bus.serve('a', wish),
    await bus.serve('b', wish),
    await other.serve('c', wish),
    await other.serve('d', wish),
  ]
  const ports = served.map(({ port }) => port)
  t.deepEqual(await outcomesOf(ports, 100), { success: 10, budget_exhausted: 90 })
  t.is(await startsOf(bus), 10)
  t.like(await stateOf(bus, '*'), { spentMicroUsd: 1_000_000, heldMicroUsd: 0, turns: 10 })
  await other.close()
  await bus.close()
})
