import { readFile, rename } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import test from 'ava'
import command from '../engines/command.ts'
import type { Served } from '../src/bus/server.ts'
import { createBus, type TestBus } from './fixtures/bus.ts'
import { type Answer, jsonHeaders, send, talkBody } from './fixtures/http.ts'
import { spentMicroUsd } from './fixtures/money.ts'

const withBus = async (play: (bus: TestBus) => Promise<void>): Promise<void> => {
  const bus = await createBus()
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

const ask = (served: Served, more: Readonly<Record<string, unknown>> = {}, bearer = 'k'): Promise<Answer> =>
  send(served.port, { headers: jsonHeaders(bearer), body: talkBody(more) })

const field = ({ json }: Answer, name: string): unknown => Reflect.get(Object(json), name)
const innerOf = (answer: Answer): unknown => JSON.parse(String(field(answer, 'text')))

/** Waits for a note of the fake CLI; the test's own time limit ends a wait that is in vain. */
const noted = async (bus: TestBus, what: string, times = 1): Promise<readonly number[]> => {
  for (;;) {
    const found = (await bus.calls()).filter(call => call.what === what)
    if (found.length >= times) return found.map(({ pid }) => pid)
    await new Promise(setImmediate)
  }
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

test('a talk is answered with the text, what it cost, and who answers', async t => {
  await withBus(async bus => {
    const answer = await ask(await bus.serve('worker', { behaviour: 'echo' }))
    t.is(answer.status, 200)
    t.like(answer.json, {
      success: true,
      text: 'echo:ping',
      fromInstance: 'worker',
      protocolVersion: 1,
      capabilities: ['structured-errors', 'retryable-errors'],
      ext: { costUsd: 0.00411, basis: 'reported', tokens: 1234, model: 'claude-sonnet-4-5' },
    })
    t.is(await spentMicroUsd(bus, 'worker'), 4110)
  })
})

test('a turn speaks by its token: as its own instance, one level deeper, and no longer than it runs', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { peers: ['reviewer'], behaviour: 'echo' })
    const good = await bus.serve('reviewer', { behaviour: 'delegates:reviewer/worker' })
    t.like(innerOf(await ask(good)), { success: true, text: 'echo:depth 2' })

    const liar = await bus.serve('liar', { behaviour: 'delegates:reviewer/worker' })
    t.like(innerOf(await ask(liar)), { success: false, errorCode: 'peer_not_allowed' })
    const deep = await bus.serve('deep', { behaviour: 'delegates:deep/worker' })
    t.like(innerOf(await ask(deep, { depth: 3, prompt: 'depth 3' })), { errorCode: 'max_depth_exceeded' })
    t.like(innerOf(await ask(deep, { depth: 1, prompt: 'depth 2' })), { errorCode: 'invalid_request' })
    t.is(field(await ask(worker, {}, 'f'.repeat(64)), 'errorCode'), 'auth_failed')
  })
})

test('a token is good only while its turn runs', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'echo' })
    const reviewer = await bus.serve('reviewer', { behaviour: 'tells-token' })
    const token = String(field(await ask(reviewer), 'text'))
    t.regex(token, /^[0-9a-f]{64}$/)
    const late = await ask(worker, { fromInstance: 'reviewer', depth: 2 }, token)
    t.is(field(late, 'errorCode'), 'auth_failed')
  })
})

test('a turn whose owner is dead speaks no more', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'echo' })
    await bus.serve('reviewer', { behaviour: 'delegates:reviewer/worker' })
    const alive = bus.host.ownerLives
    Object.assign(bus.host, { ownerLives: async () => false })
    const reviewer = await bus.serve('reviewer', { behaviour: 'delegates:reviewer/worker' })
    t.like(innerOf(await ask(reviewer)), { errorCode: 'auth_failed' })
    Object.assign(bus.host, { ownerLives: alive })
    t.is((await ask(worker)).status, 200)
  })
})

test('talks to one instance run one after another, first come first served', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'overlap' })
    const answers: string[] = []
    const talks = []
    for (let n = 0; n < 6; n++) {
      talks.push(ask(worker, { prompt: `${n}` }).then(answer => answers.push(String(field(answer, 'text')))))
      while (answers.length + worker.activity().running + worker.activity().queued <= n) await new Promise(setImmediate)
    }
    await Promise.all(talks)
    t.deepEqual(answers, ['0 alone', '1 alone', '2 alone', '3 alone', '4 alone', '5 alone'])
  })
})

test('concurrency lets that many run at once, and depth is not counted by it', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000', concurrency: 5, maxDepth: 2 })
    const gone = new AbortController()
    const body = talkBody({ depth: 0 })
    const talks = Array.from({ length: 10 }, () =>
      send(worker.port, { headers: jsonHeaders(), body, signal: gone.signal }),
    )
    await noted(bus, 'ready', 5)
    while (worker.activity().queued < 5) await new Promise(setImmediate)
    t.deepEqual(worker.activity(), { running: 5, queued: 5 })
    gone.abort()
    for (const talk of talks) await t.throwsAsync(talk)
    await worker.idle()
  })
})

test('a full line is busy, with a hint; one that waits too long is busy too', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'timeout', queueLimit: 1, queueTimeoutMs: 300 })
    const gone = new AbortController()
    const first = send(worker.port, { headers: jsonHeaders(), body: talkBody(), signal: gone.signal })
    await noted(bus, 'ready')
    const second = ask(worker)
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    const third = await ask(worker)
    t.like(third.json, { errorCode: 'busy', retryable: true, ext: { retryAfterMs: 1000 } })
    t.is(third.headers['retry-after'], '1')
    t.like((await second).json, {
      errorCode: 'busy',
      error: 'It waited 300 ms for worker, as long as its queueTimeout allows.',
    })
    gone.abort()
    await t.throwsAsync(first)
    await worker.idle()
  })
})

test('a queue of 0 still runs what finds a free slot', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { queueLimit: 0 })
    t.is((await ask(worker)).status, 200)
  })
})

test('who hangs up ends the turn, running or waiting, and the slot is free at once', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const gone = [new AbortController(), new AbortController()]
    const talks = gone.map(({ signal }) => send(worker.port, { headers: jsonHeaders(), body: talkBody(), signal }))
    const [pid = 0] = await noted(bus, 'ready')
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    gone[1]?.abort()
    while (worker.activity().queued > 0) await new Promise(setImmediate)
    t.is(worker.activity().running, 1)
    gone[0]?.abort()
    for (const talk of talks) await t.throwsAsync(talk)
    await worker.idle()
    t.true(isGone(pid))
  })
})

test('closing the sending half counts as hanging up', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const body = talkBody()
    const socket = connect(worker.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const [pid = 0] = await noted(bus, 'ready')
    socket.end()
    await worker.idle()
    t.true(isGone(pid))
  })
})

test('callers that reset at the moment of the reply do no harm', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { concurrency: 10, queueLimit: 1000 })
    const body = talkBody()
    const reset = (): Promise<void> =>
      new Promise(resolve => {
        const socket = connect(worker.port, '127.0.0.1')
        socket.once('data', () => socket.resetAndDestroy())
        socket.once('close', () => resolve())
        socket.on('error', () => undefined)
        socket.write(
          `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
      })
    await Promise.all(Array.from({ length: 40 }, reset))
    await worker.idle()
    t.is(await spentMicroUsd(bus, 'worker'), 40 * 4110)
    t.is((await ask(worker)).status, 200)
  })
})

test('a cycle of single-turn instances is busy at once, both ways at once too', async t => {
  await withBus(async bus => {
    const a = await bus.serve('a', { behaviour: 'delegates:a/b' })
    const b = await bus.serve('b', { behaviour: 'delegates:b/a' })
    const one = JSON.stringify(innerOf(await ask(a)))
    t.regex(one, /busy/)
    const both = await Promise.all([ask(a), ask(b)])
    t.true(
      both.some(answer => answer.text.includes('busy')),
      both.map(({ text }) => text).join('\n'),
    )
    for (const answer of both) t.is(answer.status, 200)
  })
})

test('a refusal names the rule, the instance and the file that made it', async t => {
  await withBus(async bus => {
    const file = `${bus.folder}/budgets.json`
    const worker = await bus.serve('worker', { peers: [], maxDepth: 2 })
    const off = await bus.serve('off', { enabled: false })
    const told = async (at: typeof worker, more: Readonly<Record<string, unknown>>) =>
      field(await ask(at, more), 'error')
    t.is(await told(worker, { fromInstance: 'friend' }), `"friend" is not among the peers of worker in ${file}.`)
    t.is(await told(worker, { depth: 3 }), `Depth 3 is beyond the maxDepth of worker, 2, in ${file}.`)
    t.is(await told(off, {}), `Instance off is disabled ("enabled": false in ${file}).`)
  })
})

test('an instance does not talk to itself', async t => {
  await withBus(async bus => {
    const a = await bus.serve('a', { behaviour: 'delegates:a/a', concurrency: 2 })
    t.like(innerOf(await ask(a)), { errorCode: 'peer_not_allowed' })
  })
})

test('breadth is bounded by the budget and by maxTurnsPerRoot', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const }, maxTurnMicroUsd: 100_000 }
    const a = await bus.serve('a', { behaviour: 'fans:20/a/b' })
    await bus.serve('b', { behaviour: 'cost:0.1', concurrency: 3, limits })
    const codes: unknown = innerOf(await ask(a))
    t.true(Array.isArray(codes))
    if (!Array.isArray(codes)) return
    t.is(codes.filter(code => code === 'success').length, 10)
    t.is(codes.filter(code => code === 'budget_exhausted').length, 10)
    t.is(await spentMicroUsd(bus, 'b'), 1_000_000)

    const c = await bus.serve('c', { behaviour: 'fans:5/c/d' })
    await bus.serve('d', { concurrency: 5, maxTurnsPerRoot: 4 })
    const bounded: unknown = innerOf(await ask(c))
    t.true(Array.isArray(bounded))
    if (Array.isArray(bounded)) t.is(bounded.filter(code => code === 'turns_exhausted').length, 2)
  })
})

test('when a turn ends, the talks that it left open are ended', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const reviewer = await bus.serve('reviewer', { behaviour: 'leaves:reviewer/worker' })
    t.is((await ask(reviewer)).status, 200)
    await worker.idle()
    const [pid = 0] = await noted(bus, 'ready')
    t.true(isGone(pid))
  })
})

test('a token brings no more talks once the ends of those that it brought are looked for', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    let late: Answer | undefined
    const children = (parent: string) => async () => {
      const token = await readFile(join(bus.folder, 'token'), 'utf8')
      late ??= await ask(worker, { fromInstance: 'reviewer', depth: 2 }, token)
      return bus.ledger.children(parent)()
    }
    Object.assign(bus.host, { ledger: { ...bus.ledger, children } })
    const reviewer = await bus.serve('reviewer', {
      engine: command,
      settings: { cli: ['sh', '-c', 'printf %s "$ERRAND_TOKEN" > token; cat'] },
    })
    t.is((await ask(reviewer)).status, 200)
    t.like(late?.json, { errorCode: 'auth_failed' })
    t.deepEqual(await bus.calls(), [])
  })
})

test('a failure that cost money is charged, and the budget runs out truly', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const } }
    const worker = await bus.serve('worker', { behaviour: 'fails-after-spending', limits })
    const expected: readonly [number, string][] = [
      [370_000, 'engine_cli'],
      [740_000, 'engine_cli'],
      [1_110_000, 'engine_cli'],
      [1_110_000, 'budget_exhausted'],
    ]
    for (const [spent, code] of expected) {
      t.is(field(await ask(worker), 'errorCode'), code)
      t.is(await spentMicroUsd(bus, 'worker'), spent)
    }
    const refusal = await ask(worker)
    t.is(
      field(refusal, 'error'),
      `Budget exhausted: $1.1100 used of $1.00. It is the budget of worker. For more: errand budget add worker 2. It is set in ${bus.folder}/budgets.json.`,
    )
    t.is(field(refusal, 'fromInstance'), 'worker')
  })
})

test('a turn that was cut settles at its hold, so a budget runs out even when nobody tells the cost', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const }, maxTurnMicroUsd: 400_000 }
    const worker = await bus.serve('worker', { behaviour: 'timeout', limits, settings: { timeoutMs: 300 } })
    for (const expected of ['timeout', 'timeout', 'timeout', 'budget_exhausted'])
      t.is(field(await ask(worker), 'errorCode'), expected)
    t.is(await spentMicroUsd(bus, 'worker'), 1_000_000)
  })
})

test('numbers that are no money are unknown: never subtracted, never infinite', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const }, maxTurnMicroUsd: 100_000 }
    let expected = 0
    for (const cost of ['-5', '1e999', '"0.40"', 'null', '123456789.12', 'true', '"0,40"']) {
      const worker = await bus.serve('worker', { behaviour: `raw-cost:${cost}`, limits })
      const answer = await ask(worker)
      t.is(answer.status, 200, cost)
      // Its tokens tell what its dollars do not.
      expected += 4110
      t.is(await spentMicroUsd(bus, 'worker'), expected, cost)
      await worker.stop(0)
    }
  })
})

test('a budget of 0 blocks everything, a missing one nothing', async t => {
  await withBus(async bus => {
    const zero = await bus.serve('zero', { limits: { budget: { microUsd: 0, per: 'total' } } })
    t.like((await ask(zero)).json, {
      errorCode: 'budget_exhausted',
      error: `Budget exhausted: $0.0000 used of $0.00. It is the budget of zero. For more: errand budget add zero 2. It is set in ${bus.folder}/budgets.json.`,
    })
    for (const dimension of ['tokens', 'turns'] as const) {
      const none = await bus.serve(dimension, { limits: { budget: { [dimension]: 0, per: 'day' } } })
      t.is(field(await ask(none), 'errorCode'), 'budget_exhausted')
    }
    const free = await bus.serve('free', { limits: { budget: { per: 'total' } } })
    t.is((await ask(free)).status, 200)
    t.is((await bus.calls()).length, 1)
  })
})

test('talks that wait for held money run when it is released: no phantom refusals', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const } }
    const worker = await bus.serve('worker', { behaviour: 'cost:0.01', concurrency: 10, limits })
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(worker)))
    for (const answer of answers) t.is(answer.status, 200, answer.text)
    t.is((await ask(worker)).status, 200)
    t.is(await spentMicroUsd(bus, 'worker'), 110_000)
  })
})

test('a bus that stops answers everyone: new and waiting talks at once, running ones within the grace', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const running = ask(worker)
    const [pid = 0] = await noted(bus, 'ready')
    const waiting = ask(worker)
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    const stopped = worker.stop(50)
    t.like((await waiting).json, { errorCode: 'instance_unavailable', retryable: true })
    t.like((await running).json, { errorCode: 'cancelled', retryable: false })
    await stopped
    t.true(isGone(pid))
    await t.throwsAsync(ask(worker), { code: 'ECONNREFUSED' })
  })
})

test('a talk that gets its turn just as the bus stops is told of the stop, and starts nothing', async t => {
  await withBus(async bus => {
    const [entered, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const enter: typeof bus.ledger.enter = (entry, slotFree) => async () => {
      const state = await bus.ledger.enter(entry, slotFree)()
      entered.resolve()
      await goOn.promise
      return state
    }
    Object.assign(bus.host, { ledger: { ...bus.ledger, enter } })
    const worker = await bus.serve('worker', {})
    const asked = ask(worker)
    await entered.promise
    const stopped = worker.stop(60_000)
    goOn.resolve()
    t.like((await asked).json, { errorCode: 'instance_unavailable', retryable: true, ext: { costUsd: 0 } })
    await stopped
    t.deepEqual(await bus.calls(), [])
  })
})

test('a bus that stops lets a turn end within its grace', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:300' })
    const running = ask(worker)
    await noted(bus, 'ready')
    await worker.stop(60_000)
    t.is((await running).status, 200)
  })
})

test('who was on the way when the stop came is told that nothing ran, not cut off', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const stopped = worker.stop(0, 2000)
    t.like((await ask(worker)).json, { errorCode: 'instance_unavailable', retryable: true })
    await stopped
    await t.throwsAsync(ask(worker), { code: 'ECONNREFUSED' })
    t.deepEqual(await bus.calls(), [])
  })
})

test('health tells how busy it is, and answers while turns hang', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'timeout' })
    const gone = new AbortController()
    const talks = [1, 2].map(() => send(worker.port, { headers: jsonHeaders(), body: talkBody(), signal: gone.signal }))
    await noted(bus, 'ready')
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    const { json, text } = await send(worker.port, { method: 'GET', path: '/api/health' })
    t.like(json, {
      status: 'ok',
      kind: 'errand',
      instance: 'worker',
      engine: 'claude',
      running: 1,
      queued: 1,
      pid: process.pid,
    })
    t.true(Number(Reflect.get(Object(json), 'oldestTurnMs')) > 0)
    t.deepEqual(
      Object.keys(Object(json)),
      'status kind instance engine protocolVersion capabilities pid running queued oldestTurnMs'.split(' '),
    )
    t.false(text.includes(bus.folder))
    gone.abort()
    for (const talk of talks) await t.throwsAsync(talk)
    await worker.idle()
  })
})

test('a store that is deleted under a running bus refuses talks, and the health says so', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    t.is((await ask(worker)).status, 200)
    await rename(bus.store.file, `${bus.store.file}.away`)
    t.like((await ask(worker)).json, { errorCode: 'session_state', retryable: false })
    t.like((await send(worker.port, { method: 'GET', path: '/api/health' })).json, { status: 'refusing' })
    await rename(`${bus.store.file}.away`, bus.store.file)
    t.like((await send(worker.port, { method: 'GET', path: '/api/health' })).json, { status: 'ok' })
    t.is((await ask(worker)).status, 200)
  })
})

test('a cost that cannot be written does not take the answer away; new talks wait until it is written', async t => {
  const bus = await createBus()
  let full = true
  const { left } = await import('fp-ts/lib/TaskEither.js')
  const { failure } = await import('../src/protocol/failure.ts')
  const ledger = {
    ...bus.ledger,
    settle: (ended: Parameters<typeof bus.ledger.settle>[0]) =>
      full ? left(failure('internal_error', 'The disk is full.')) : bus.ledger.settle(ended),
  }
  Object.assign(bus.host, { ledger })
  const worker = await bus.serve('worker', {})
  t.is((await ask(worker)).status, 200)
  t.like((await ask(worker)).json, { errorCode: 'internal_error', retryable: true })
  t.like((await send(worker.port, { method: 'GET', path: '/api/health' })).json, { status: 'refusing' })
  full = false
  while (bus.host.unsettled.size > 0) await new Promise(resolve => setTimeout(resolve, 20))
  t.is((await ask(worker)).status, 200)
  t.is(await spentMicroUsd(bus, 'worker'), 2 * 4110)
  await bus.close()
})
