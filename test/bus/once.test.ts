import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Served } from '../../src/bus/server.ts'
import { failure } from '../../src/protocol/failure.ts'
import { createBus, type InstanceWish, right, type TestBus } from '../fixtures/bus.ts'
import { type Came, eventsIn, follow } from '../fixtures/events.ts'
import { type Answer, jsonHeaders, send, sendRaw, talkBody } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'

const talker = fileURLToPath(new URL('../fixtures/talker.mjs', import.meta.url))

const withBus = async (play: (bus: TestBus) => Promise<void>, facts: Parameters<typeof createBus>[0] = {}) => {
  const bus = await createBus(facts)
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

const ask = (
  served: Served,
  key: string,
  more: Readonly<Record<string, unknown>> = {},
  signal?: AbortSignal,
): Promise<Answer> =>
  send(served.port, {
    headers: { ...jsonHeaders(), 'Idempotency-Key': key },
    body: talkBody(more),
    ...(signal ? { signal } : {}),
  })

/** The instance whose prompt says what it does. */
const serveTalker = (bus: TestBus, name = 'worker', { settings, ...wish }: InstanceWish = {}): Promise<Served> =>
  bus.serve(name, { ...wish, settings: { cli: [process.execPath, talker, join(bus.folder, 'calls')], ...settings } })

const field = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((at: unknown, name) => Reflect.get(Object(at), name), value)

const turnOf = ({ json }: Answer): string => String(field(json, 'ext', 'turn'))

/** All of an answer but how long it took. */
const timeless = ({ status, json }: Answer) => ({ status, json: { ...Object(json), durationMs: 0 } })

const starts = async (bus: TestBus) => (await bus.calls()).filter(({ what }) => what === 'start')

const noted = async (bus: TestBus, what: string, times = 1) => {
  for (;;) {
    const found = (await bus.calls()).filter(call => call.what === what)
    if (found.length >= times) return found
    await new Promise(setImmediate)
  }
}

/** With as much patience as a test likes; the fixture's is 200 ms. */
const patient = (bus: TestBus, keyedPatienceMs = 600_000) => Object.assign(bus.host, { keyedPatienceMs })

const open = (bus: TestBus, gate = 'open') => writeFile(join(bus.folder, `calls.${gate}`), '')

const hangsUp = () => {
  const controller = new AbortController()
  return { signal: controller.signal, now: () => controller.abort() }
}

test('fifty at once under one key: one turn, one charge, fifty equal answers', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(worker, 'k1')))
    for (const answer of answers) t.deepEqual(timeless(answer), timeless(answers[0] ?? answer))
    t.like(answers[0]?.json, { success: true, text: 'pong' })
    t.is((await starts(bus)).length, 1)
    t.is(await spentMicroUsd(bus, 'worker'), 4110)
  })
})

test('whoever asks again gets the same answer, in terms of its own, and is charged nothing', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const first = await ask(worker, 'k1')
    const again = await ask(worker, 'k1', { capabilities: ['progress-events', 'time-travel'] })
    t.is(turnOf(again), turnOf(first))
    const told = { capabilities: ['structured-errors', 'retryable-errors', 'progress-events'], durationMs: 0 }
    t.deepEqual(timeless(again).json, { ...timeless(first).json, ...told })
    t.is((await starts(bus)).length, 1)
    t.is(await spentMicroUsd(bus, 'worker'), 4110)
    t.not(turnOf(await ask(worker, 'k2')), turnOf(first))
    t.is((await starts(bus)).length, 2)
  })
})

test('another talk under the key is a conflict, while the first runs and afterwards', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const first = ask(worker, 'k1', { prompt: 'gate open' })
    await noted(bus, 'ready')
    const others = [
      { prompt: 'other' },
      { prompt: 'gate open', depth: 2 },
      { prompt: 'gate open', ext: { thread: 't' } },
    ]
    const conflict = async () => {
      for (const other of others) {
        const answer = await ask(worker, 'k1', other)
        t.is(answer.status, 409)
        t.like(answer.json, { errorCode: 'idempotency_conflict', retryable: false })
        const says = 'The idempotency key "k1" came before with another talk. Give each talk its own key.'
        t.is(field(answer.json, 'error'), says)
      }
    }
    await conflict()
    await open(bus)
    t.like((await first).json, { success: true })
    await conflict()
    t.is((await starts(bus)).length, 1)
  })
})

test('a key is of one sender and one instance', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const helper = await bus.serve('helper', {})
    const answers = [
      await ask(worker, 'k1'),
      await ask(worker, 'k1', { fromInstance: 'other' }),
      await ask(helper, 'k1'),
      await ask(worker, 'K1'),
    ]
    t.is(new Set(answers.map(turnOf)).size, 4)
    t.is((await starts(bus)).length, 4)
  })
})

test('after the guards: who may not talk learns nothing of a key; before the budget: an empty one answers again', async t => {
  await withBus(async bus => {
    const limits = { budget: { turns: 1, per: 'total' as const } }
    const worker = await bus.serve('worker', { peers: ['caller'], limits })
    const first = await ask(worker, 'k1')
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'k1' }
    t.like((await send(worker.port, { headers, body: talkBody() })).json, { errorCode: 'auth_failed' })
    for (const key of ['k1', 'k2', '']) {
      const refused = await ask(worker, key, { fromInstance: 'stranger' })
      t.like(refused.json, {
        errorCode: 'peer_not_allowed',
        error: `"stranger" is not among the peers of worker in ${bus.host.configFile}.`,
      })
      t.like((await ask(worker, key, { depth: 4 })).json, { errorCode: 'max_depth_exceeded' })
    }
    t.like((await ask(worker, 'k2')).json, { errorCode: 'budget_exhausted' })
    t.deepEqual(timeless(await ask(worker, 'k1')), timeless(first))
    // A refusal has set its key free.
    await worker.stop(0)
    const richer = await bus.serve('worker', { limits: { budget: { turns: 2, per: 'total' } } })
    t.like((await ask(richer, 'k2')).json, { success: true })
  })
})

test('an outcome that trying again may better sets the key free; one that it may not is kept', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'exit1' })
    const crashes = [await ask(worker, 'k1'), await ask(worker, 'k1')]
    for (const { json } of crashes) t.like(json, { errorCode: 'engine_cli', retryable: true })
    t.not(turnOf(crashes[0] ?? ({ ...crashes[1] } as Answer)), turnOf(crashes[1] as Answer))
    t.is((await starts(bus)).length, 2)
    const helper = await bus.serve('helper', { behaviour: 'auth-fail' })
    const refused = await ask(helper, 'k1')
    t.like(refused.json, { errorCode: 'auth', retryable: false })
    t.deepEqual(timeless(await ask(helper, 'k1')), timeless(refused))
    t.is((await starts(bus)).length, 3)
  })
})

test('answers are kept over a restart of the bus', async t => {
  await withBus(async before => {
    const first = await ask(await before.serve('worker', {}), 'k1')
    await withBus(
      async bus => {
        const worker = await bus.serve('worker', {})
        t.deepEqual(timeless(await ask(worker, 'k1')), timeless(first))
        t.like((await ask(worker, 'k1', { prompt: 'other' })).json, { errorCode: 'idempotency_conflict' })
        t.is((await starts(bus)).length, 1)
      },
      { folder: before.folder },
    )
  })
})

test('an answer of any length is kept whole, and marks of any script', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'echo' })
    const prompt = '"\\ü𝄞 '.repeat(60_000)
    const first = await ask(worker, 'k1', { prompt })
    t.is(field(first.json, 'text'), `echo:${prompt}`)
    t.deepEqual(timeless(await ask(worker, 'k1', { prompt })), timeless(first))
  })
})

test('what a key may be', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const says = 'Idempotency-Key must be one header of 1 to 200 visible ASCII characters.'
    for (const key of ['', ' ', 'a b', 'x'.repeat(201), 'k\u00e9', 'a\tb']) {
      const answer = await ask(worker, key)
      t.is(answer.status, 400, JSON.stringify(key))
      t.like(answer.json, { errorCode: 'invalid_request', error: says })
    }
    const body = talkBody()
    const head = [
      'POST /api/talk HTTP/1.1',
      'Host: localhost',
      'Authorization: Bearer k',
      'Content-Type: application/json',
    ]
    const twice = [
      ...head,
      `Content-Length: ${body.length}`,
      'Idempotency-Key: a',
      'Idempotency-Key: a',
      'Connection: close',
    ]
    const raw = await sendRaw(worker.port, `${twice.join('\r\n')}\r\n\r\n${body}`)
    t.true(raw.startsWith('HTTP/1.1 400') && raw.includes(says), raw)
    t.deepEqual(await bus.calls(), [])
    for (const key of ['x'.repeat(200), '"quoted"', '__proto__', "'; DROP TABLE requests; --".replaceAll(' ', '')])
      t.like((await ask(worker, key)).json, { success: true })
  })
})

test('one of two who wait hangs up: the other gets the answer', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const one = hangsUp()
    const first = ask(worker, 'k1', { prompt: 'gate open' }, one.signal)
    await noted(bus, 'ready')
    const joined = await follow(worker.port, { more: { prompt: 'gate open' }, headers: { 'Idempotency-Key': 'k1' } })
    await joined.comes('accepted')
    one.now()
    await t.throwsAsync(first)
    // Longer than the patience with a turn that nobody waits for.
    await new Promise(resolve => setTimeout(resolve, 400))
    await open(bus)
    t.like(eventsIn(await joined.ended).at(-1)?.data, { success: true })
    t.is((await starts(bus)).length, 1)
  })
})

test('when nobody waits any more it is ended, after a while', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const callers = [hangsUp(), hangsUp()]
    const asked = callers.map(({ signal }) => ask(worker, 'k1', { prompt: 'hang' }, signal))
    await noted(bus, 'ready')
    for (const { now } of callers) now()
    await Promise.all(asked.map(one => t.throwsAsync(one)))
    await worker.idle()
    const again = await ask(worker, 'k1', { prompt: 'hang' })
    t.is(again.status, 499)
    t.like(again.json, { errorCode: 'cancelled', ext: { partialText: 'I think.' } })
    t.is((await starts(bus)).length, 1)
  })
})

test('whoever comes back in time gets the answer of the turn that it left', async t => {
  await withBus(async bus => {
    patient(bus)
    const worker = await serveTalker(bus)
    const one = hangsUp()
    const first = ask(worker, 'k1', { prompt: 'gate open' }, one.signal)
    const [{ turn = '' } = {}] = await noted(bus, 'ready')
    one.now()
    await t.throwsAsync(first)
    const back = ask(worker, 'k1', { prompt: 'gate open' })
    await open(bus)
    t.is(turnOf(await back), turn)
    t.is((await starts(bus)).length, 1)
  })
})

test('a talk that waits and that nobody waits for any more leaves the line, and its key is free', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const running = ask(worker, 'k1', { prompt: 'gate open' })
    await noted(bus, 'ready')
    const one = hangsUp()
    const waiting = ask(worker, 'k2', { prompt: 'two' }, one.signal)
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    one.now()
    await t.throwsAsync(waiting)
    while (worker.activity().queued > 0) await new Promise(setImmediate)
    await open(bus)
    await running
    t.like((await ask(worker, 'k2', { prompt: 'two' })).json, { success: true })
    t.is((await starts(bus)).length, 2)
  })
})

test('a cancel ends a turn with a key for all that wait for it, at once and for good', async t => {
  await withBus(async bus => {
    patient(bus)
    const worker = await serveTalker(bus)
    const asked = [1, 2].map(() => ask(worker, 'k1', { prompt: 'hang' }))
    const [{ turn = '' } = {}] = await noted(bus, 'ready')
    const answer = await send(worker.port, { path: `/api/turns/${turn}/cancel`, headers: jsonHeaders() })
    t.like(answer.json, { success: true, text: `Turn ${turn} of worker was ended.` })
    for (const one of [...asked, ask(worker, 'k1', { prompt: 'hang' })])
      t.like((await one).json, {
        errorCode: 'cancelled',
        error: 'The turn was cancelled by the operator.',
        ext: { turn },
      })
    t.is((await starts(bus)).length, 1)
  })
})

test('those who follow a joined turn hear where it stands, then all that comes, in order', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const asks = { more: { prompt: 'gate open' }, headers: { 'Idempotency-Key': 'k1' } }
    const first = await follow(worker.port, asks)
    await first.comes('started')
    await noted(bus, 'ready')
    const second = await follow(worker.port, asks)
    await second.comes('started')
    await open(bus)
    const [one, other] = [eventsIn(await first.ended), eventsIn(await second.ended)]
    const kinds = (events: readonly Came[]) => events.map(({ event }) => event).filter(event => event !== 'spend')
    t.deepEqual(kinds(one), ['accepted', 'started', 'envelope'])
    t.deepEqual(kinds(other), kinds(one))
    t.deepEqual(other[0]?.data, one[0]?.data)
    for (const events of [one, other])
      t.deepEqual(
        events.map(({ id }) => id),
        events.map((_, at) => at + 1),
      )
    // Whoever asks for events afterwards gets one JSON: there is nothing to follow.
    const after = await follow(worker.port, asks)
    t.is(after.response.headers['content-type'], 'application/json; charset=utf-8')
    t.is((await starts(bus)).length, 1)
  })
})

test('a bus that stops: what runs is ended for all who wait for it, and new talks leave their keys free', async t => {
  await withBus(async bus => {
    patient(bus)
    const worker = await serveTalker(bus)
    const asked = [1, 2].map(() => ask(worker, 'k1', { prompt: 'hang' }))
    const waiting = ask(worker, 'k2', { prompt: 'two' })
    await noted(bus, 'ready')
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    await worker.stop(0)
    for (const one of asked) t.like((await one).json, { errorCode: 'cancelled', retryable: false })
    t.like((await waiting).json, { errorCode: 'instance_unavailable', retryable: true })
    const again = await serveTalker(bus)
    t.like((await ask(again, 'k1', { prompt: 'hang' })).json, { errorCode: 'cancelled' })
    t.like((await ask(again, 'k2', { prompt: 'two' })).json, { success: true })
  })
})

test('what a turn asked for under a key ends with the turn: nobody comes back for it', async t => {
  await withBus(async bus => {
    patient(bus)
    const worker = await serveTalker(bus)
    const reviewer = await serveTalker(bus, 'reviewer')
    const inner = { to: 'worker', fromInstance: 'reviewer', depth: 2, prompt: 'hang', key: 'k1' }
    const one = hangsUp()
    const asked = send(reviewer.port, {
      headers: jsonHeaders(),
      body: talkBody({ prompt: JSON.stringify(inner) }),
      signal: one.signal,
    })
    await noted(bus, 'ready')
    one.now()
    await t.throwsAsync(asked)
    await Promise.all([reviewer.idle(), worker.idle()])
    t.is((await starts(bus)).length, 2)
  })
})

test('a turn does not join the talk of another turn: nobody would see that it waits', async t => {
  await withBus(async bus => {
    await serveTalker(bus)
    const reviewer = await serveTalker(bus, 'reviewer', { concurrency: 2 })
    const inner = { to: 'worker', fromInstance: 'reviewer', depth: 2, prompt: 'gate open', key: 'k1' }
    const outer = () =>
      send(reviewer.port, { headers: jsonHeaders(), body: talkBody({ prompt: JSON.stringify(inner) }) })
    const first = outer()
    const [, { turn = '' } = {}] = [0, ...(await noted(bus, 'ready'))]
    const innerOf = ({ json }: Answer): unknown => JSON.parse(String(field(json, 'text')))
    t.like(innerOf(await outer()), {
      errorCode: 'busy',
      error: `The talk with this idempotency key is not over yet, as turn ${turn}.`,
      ext: { turn, retryAfterMs: 1000 },
    })
    await open(bus)
    t.like(innerOf(await first), { success: true })
    t.like(innerOf(await outer()), { success: true, ext: { turn } })
  })
})

test('a kept answer that is damaged is said to be', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    for (const [key, json, why] of [
      ['k1', '{"success":tr', 'it is no JSON'],
      ['k2', '{}', 'success must be true or false, not missing'],
      ['k3', '{"success":true}', 'text must be a string, not missing'],
    ] as const) {
      await ask(worker, key)
      right(await bus.store.write(sql => void sql.run('UPDATE requests SET envelope = ? WHERE key = ?', json, key))())
      const answer = await ask(worker, key)
      t.is(answer.status, 409)
      const says = `The answer kept for the idempotency key "${key}" cannot be read: ${why}. Send the talk with another key.`
      t.like(answer.json, { errorCode: 'session_state', retryable: false, error: says })
    }
    t.is((await starts(bus)).length, 3)
  })
})

test('an answer whose cost cannot be written at once is kept with it', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const { ledger } = bus.host
    let fails = true
    const settle: typeof ledger.settle = (ended, keeps) =>
      fails ? TE.left(failure('internal_error', 'The disk is full.')) : ledger.settle(ended, keeps)
    Object.assign(bus.host, { ledger: { ...ledger, settle } })
    const first = await ask(worker, 'k1')
    t.like(first.json, { success: true })
    t.like((await ask(worker, 'k1')).json, { errorCode: 'busy', ext: { turn: turnOf(first) } })
    fails = false
    while (bus.host.unsettled.size > 0) await new Promise(resolve => setTimeout(resolve, 5))
    const again = await ask(worker, 'k1')
    t.is(turnOf(again), turnOf(first))
    t.is(field(again.json, 'text'), 'pong')
    t.is((await starts(bus)).length, 1)
  })
})

test('a key that cannot be claimed runs nothing; one that cannot be set free is taken up again', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { limits: { budget: { turns: 1, per: 'total' } } })
    const { ledger } = bus.host
    const fails = () => TE.left(failure('internal_error', 'The disk is full.'))
    Object.assign(bus.host, { ledger: { ...ledger, claim: fails } })
    t.like((await ask(worker, 'k1')).json, { errorCode: 'internal_error', error: 'The disk is full.' })
    t.deepEqual(await bus.calls(), [])
    Object.assign(bus.host, { ledger: { ...ledger, unclaim: fails } })
    await ask(worker, 'k0')
    for (const _ of [1, 2]) t.like((await ask(worker, 'k1')).json, { errorCode: 'budget_exhausted' })
  })
})

test('of what was asked under a key the store keeps a digest alone', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    await ask(worker, 'a-key-to-look-for', { prompt: 'a-prompt-to-look-for' })
    const files = await Promise.all([bus.store.file, `${bus.store.file}-wal`].map(file => readFile(file, 'latin1')))
    t.true(files.join('').includes('a-key-to-look-for'))
    t.false(files.join('').includes('a-prompt-to-look-for'))
  })
})

test('whoever comes while a talk that nobody waits for ends is not told that it gave up', async t => {
  await withBus(async bus => {
    const worker = await serveTalker(bus)
    const { ledger } = bus.host
    const leaving = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const running = ask(worker, 'k1', { prompt: 'gate open' })
    await noted(bus, 'ready')
    const leave: typeof ledger.leave = turn => async () => {
      leaving.resolve()
      await go.promise
      return ledger.leave(turn)()
    }
    Object.assign(bus.host, { ledger: { ...ledger, leave } })
    const one = hangsUp()
    const waiting = ask(worker, 'k2', { prompt: 'two' }, one.signal)
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    one.now()
    await t.throwsAsync(waiting)
    await leaving.promise
    const back = ask(worker, 'k2', { prompt: 'two' })
    const other = await ask(worker, 'k2', { prompt: 'three' })
    t.like(other.json, { errorCode: 'idempotency_conflict' })
    go.resolve()
    await open(bus)
    t.like((await back).json, { success: true })
    await running
  })
})
