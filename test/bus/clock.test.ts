import test from 'ava'
import { createBus, type TestBus } from '../fixtures/bus.ts'
import { eventsIn, follow } from '../fixtures/events.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'

const hourMs = 3_600_000

/** A bus whose machine has its clock set by `set`. */
const withClock = async (play: (bus: TestBus, set: (byMs: number) => void) => Promise<void>): Promise<void> => {
  let byMs = 0
  const bus = await createBus({ now: () => Date.now() + byMs })
  try {
    await play(bus, by => {
      byMs = by
    })
  } finally {
    await bus.close()
  }
}

const noted = async (bus: TestBus, what: RegExp): Promise<Awaited<ReturnType<TestBus['calls']>>[number]> => {
  for (;;) {
    const found = (await bus.calls()).find(call => what.test(call.what))
    if (found !== undefined) return found
    await new Promise(setImmediate)
  }
}

const numberIn = (value: unknown, name: string): number => Number(Reflect.get(Object(value), name))

for (const [how, byMs] of [
  ['back by an hour', -hourMs],
  ['forth by an hour', hourMs],
  ['back by a month', -31 * 24 * hourMs],
  ['forth by a month', 31 * 24 * hourMs],
] as const) {
  test(`the clock is set ${how} while a turn runs: nobody hears of that in how long it took`, async t => {
    await withClock(async (bus, set) => {
      const worker = await bus.serve('worker', { behaviour: 'timeout' })
      const headers = { 'Idempotency-Key': 'k' }
      const first = await follow(worker.port, { headers })
      const { turn } = await noted(bus, /ready/)
      const second = await follow(worker.port, { headers })
      await second.comes('accepted')
      set(byMs)
      const { json: health } = await send(worker.port, { method: 'GET', path: '/api/health' })
      t.is(numberIn(health, 'running'), 1)
      const cancelled = await send(worker.port, { path: `/api/turns/${turn}/cancel`, headers: jsonHeaders('k') })
      const answers = [await first.ended, await second.ended].map(text => eventsIn(text).at(-1)?.data)
      t.deepEqual(
        answers.map(answer => answer?.['errorCode']),
        ['cancelled', 'cancelled'],
      )
      const spans = [
        numberIn(health, 'oldestTurnMs'),
        ...[cancelled.json, ...answers].map(answer => numberIn(answer, 'durationMs')),
      ]
      for (const span of spans) t.true(Number.isSafeInteger(span) && span >= 0 && span < 60_000, String(spans))
    })
  })
}

test('a turn that still runs long after its time has a clock that was set: what it asks for is served', async t => {
  await withClock(async (bus, set) => {
    const worker = await bus.serve('worker', { peers: ['reviewer'] })
    const reviewer = await bus.serve('reviewer', { behaviour: 'talks,hangs,shows-token' })
    const followed = await follow(reviewer.port)
    const { what } = await noted(bus, /^token/)
    set(hourMs)
    const { json } = await send(worker.port, {
      headers: jsonHeaders(what.slice('token '.length)),
      body: talkBody({ fromInstance: 'reviewer', depth: 2 }),
    })
    t.like(json, { success: true, text: 'pong' })
    followed.hangUp()
    await reviewer.idle()
  })
})
