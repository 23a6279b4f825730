import test from 'ava'
import { createBus, type InstanceWish } from '../fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'

// What was seen is charged, however the turn ended; `at` is in micro-dollars.
const ends: readonly (readonly [what: string, wish: InstanceWish, code: string | undefined, at: number])[] = [
  ['success', { behaviour: 'cost:0.0321' }, undefined, 32_100],
  ['failure', { behaviour: 'fails-after-spending' }, 'engine_cli', 370_000],
  ['timeout, with nothing seen: the hold', { behaviour: 'timeout', settings: { timeoutMs: 300 } }, 'timeout', 500_000],
  ['a failed login', { behaviour: 'auth-fail' }, 'auth', 0],
  ['a CLI that is not there', { settings: { cli: ['/nowhere/claude'] } }, 'engine_cli', 0],
  ['a CLI that ends at once', { behaviour: 'exit1' }, 'engine_cli', 0],
  ['tokens without dollars: their price', { behaviour: 'tokens-only' }, undefined, 4110],
  ['killed from outside, with nothing seen: the hold', { behaviour: 'killed-by-signal' }, 'engine_cli', 500_000],
]

for (const [what, wish, code, at] of ends) {
  test(`what is charged for ${what}`, async t => {
    const bus = await createBus()
    const limits = { budget: { microUsd: 10_000_000, per: 'total' }, maxTurnMicroUsd: 500_000 } as const
    const { port } = await bus.serve('worker', { ...wish, limits })
    const { json } = await send(port, { headers: jsonHeaders(), body: talkBody() })
    t.is(Reflect.get(Object(json), 'errorCode'), code)
    t.is(await spentMicroUsd(bus, 'worker'), at)
    t.is(Reflect.get(Object(Reflect.get(Object(json), 'ext')), 'costUsd'), at / 1e6)
    await bus.close()
  })
}
