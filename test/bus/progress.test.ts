import { once } from 'node:events'
import http from 'node:http'
import test from 'ava'
import Koa from 'koa'
import { eventStream } from '../../src/bus/event-stream.ts'
import { tellingTo } from '../../src/bus/progress.ts'
import { failureEnvelope } from '../../src/protocol/envelope.ts'
import { failure } from '../../src/protocol/failure.ts'
import type { Progress } from '../../src/protocol/progress.ts'
import { createBus, type TestBus } from '../fixtures/bus.ts'
import { type Came, eventsIn, follow } from '../fixtures/events.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'

const withBus = async (play: (bus: TestBus) => Promise<void>): Promise<void> => {
  const bus = await createBus()
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

const rises = (events: readonly Came[]): boolean =>
  events.every(({ id }, at) => at === 0 || id > (events[at - 1]?.id ?? 0))
const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

test('a talk that is followed tells what happens in its order, and the envelope last', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks' })
    const { response, ended } = await follow(worker.port)
    t.is(response.statusCode, 200)
    t.is(response.headers['content-type'], 'text/event-stream; charset=utf-8')
    const text = await ended
    const events = eventsIn(text)
    t.deepEqual(
      events.map(({ id }) => id),
      events.map((_, at) => at + 1),
    )
    const told = events.filter(({ event }) => event !== 'spend').map(({ event, data }) => [event, data] as const)
    const [turn] = (await bus.calls()).map(call => call.turn)
    t.deepEqual(told.slice(0, -1), [
      ['accepted', { turn, root: turn, depth: 1 }],
      ['started', {}],
      ['text', { text: 'I look.', delta: false }],
      ['tool', { name: 'Read' }],
      ['text', { text: 'I found it.', delta: false }],
    ])
    const [last, envelope] = told.at(-1) ?? []
    t.is(last, 'envelope')
    t.like(envelope, {
      success: true,
      text: 'It is there.',
      capabilities: ['structured-errors', 'retryable-errors', 'progress-events'],
      ext: { turn, costUsd: 0.00411 },
    })
    const spent = events.find(({ event }) => event === 'spend')
    t.true(Number(spent?.data['usd']) > 0)
    t.true(Number(spent?.data['tokens']) > 0)
    t.false(text.includes('/secret/path'))
    t.true(text.endsWith('\n\n'))
  })
})

test('the capability is listed to who named it, with or without events, in success and refusal', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { peers: ['caller'] })
    const capabilities = async (more: object) => {
      const { json } = await send(worker.port, { headers: jsonHeaders(), body: talkBody({ ...more }) })
      return Reflect.get(Object(json), 'capabilities')
    }
    const added = ['structured-errors', 'retryable-errors', 'progress-events']
    t.deepEqual(await capabilities({ capabilities: ['progress-events', 'unheard-of'] }), added)
    t.deepEqual(await capabilities({ capabilities: ['progress-events'], fromInstance: 'stranger' }), added)
    t.deepEqual(await capabilities({}), added.slice(0, 2))
  })
})

test('what is refused before it is accepted is refused as ever', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 0, per: 'total' as const } }
    const poor = await bus.serve('poor', { limits })
    const off = await bus.serve('off', { enabled: false })
    const refusals = [
      [poor, 'k', 402],
      [poor, 'wrong', 401],
      [off, 'k', 403],
    ] as const
    for (const [{ port }, bearer, status] of refusals) {
      const headers = { ...jsonHeaders(bearer), Accept: 'text/event-stream' }
      const answer = await send(port, { headers, body: talkBody() })
      t.is(answer.status, status)
      t.regex(String(answer.headers['content-type']), /^application\/json/)
      t.like(answer.json, { success: false })
    }
  })
})

test('one that waits is told that it was accepted; what ends its wait is the last event', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs', queueTimeoutMs: 400 })
    const first = await follow(worker.port)
    await first.comes('started')
    const second = await follow(worker.port)
    const { data } = await second.comes('accepted')
    t.regex(String(data['turn']), /^[0-9a-f]{16}$/)
    const events = eventsIn(await second.ended)
    t.deepEqual(
      events.map(({ event }) => event),
      ['accepted', 'envelope'],
    )
    t.like(events[1]?.data, { success: false, errorCode: 'busy', retryable: true })
    first.hangUp()
    await worker.idle()
  })
})

test('who follows and vanishes ends the turn, running or waiting', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs' })
    const first = await follow(worker.port)
    await first.comes('tool')
    const second = await follow(worker.port)
    await second.comes('accepted')
    second.hangUp()
    while (worker.activity().queued > 0) await new Promise(setImmediate)
    t.is(worker.activity().running, 1)
    first.hangUp()
    await worker.idle()
    const [call] = await bus.calls()
    t.true(isGone(call?.pid ?? 0))
    t.is((await bus.calls()).filter(({ what }) => what === 'start').length, 1)
  })
})

test('a slow reader slows no turn and fills no memory: it misses texts, and never the envelope', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'floods:400' })
    const { response, ended } = await follow(worker.port, { reads: false })
    // Nobody reads, and still the turn comes to its end.
    await worker.idle()
    response.emit('resume')
    const text = await ended
    const events = eventsIn(text)
    t.true(text.length < 16 * 1024 * 1024, `${text.length} of 26 million characters`)
    t.true(rises(events))
    const ids = events.map(({ id }) => id)
    t.true((ids.at(-1) ?? 0) > ids.length, 'a gap tells what is missing')
    t.deepEqual([events[0]?.event, events[1]?.event], ['accepted', 'started'])
    t.is(events.at(-1)?.event, 'envelope')
    t.like(events.at(-1)?.data, { success: true, text: 'That was much.' })
    for (const { event, data } of events) if (event === 'text') t.true(String(data['text']).length <= 16 * 1024)
  })
})

test('a bug after the first event is an event too', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const { settle } = bus.ledger
    const broken = () => {
      throw new Error('a bug')
    }
    Object.assign(bus.ledger, { settle: broken })
    const events = eventsIn(await (await follow(worker.port)).ended)
    Object.assign(bus.ledger, { settle })
    t.like(events.at(-1)?.data, { success: false, errorCode: 'internal_error' })
  })
})

test('a silent turn has a heartbeat, so that nobody takes its line for dead', async t => {
  const done = Promise.withResolvers<void>()
  const app = new Koa()
  app.use(async ctx => {
    const stream = eventStream(ctx, 5)
    stream.tell({ kind: 'started' })
    await done.promise
    stream.end(failureEnvelope(failure('busy', 'So it is.'), { fromInstance: 'worker', durationMs: 0 }))
  })
  const server = app.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const [response] = await once(
    http.get({ port: typeof address === 'object' ? address?.port : 0, agent: false }),
    'response',
  )
  let text = ''
  for await (const part of response) {
    text += part
    if (text.split(': beat\n\n').length > 3) done.resolve()
  }
  t.deepEqual(
    eventsIn(text).map(({ id, event }) => [id, event]),
    [
      [1, 'started'],
      [2, 'envelope'],
    ],
  )
})

test('words that come one by one are told together, in order, and prices not too often', async t => {
  const told: Progress[] = []
  const telling = tellingTo(progress => told.push(progress))
  telling.event({ kind: 'text', text: 'a' })
  for (const text of ['b', '', 'c']) telling.event({ kind: 'text', text, delta: true })
  telling.event({ kind: 'tool', name: 'Bash\u001b[31m\n' })
  telling.event({ kind: 'text', text: 'd', delta: true })
  telling.event({ kind: 'retry', status: 529, reason: 'sk-12345678901234567890', retryAfterMs: Number.NaN })
  for (const tokens of [1, 2, 3]) telling.spent(tokens, tokens)
  telling.event({ kind: 'text', text: 'x'.repeat(40_000) })
  telling.event({ kind: 'text', text: `${'y'.repeat(16 * 1024 - 1)}😀` })
  telling.end()
  telling.event({ kind: 'text', text: 'late' })
  telling.spent(9, 9)
  const long = 16 * 1024
  t.deepEqual(
    told.map(one => (one.kind === 'text' && one.text.length > 9 ? { ...one, text: one.text.length } : one)),
    [
      { kind: 'text', text: 'abc', delta: false },
      { kind: 'tool', name: 'Bash' },
      { kind: 'text', text: 'd', delta: true },
      { kind: 'retry', status: 529 },
      { kind: 'spend', usd: 0.000001, tokens: 1 },
      { kind: 'text', text: long, delta: false },
      { kind: 'text', text: long, delta: true },
      { kind: 'text', text: 40_000 - 2 * long, delta: true },
      { kind: 'text', text: long - 1, delta: false },
      { kind: 'text', text: '😀', delta: true },
    ],
  )
})
