import test from 'ava'
import * as t_ from 'io-ts/lib/index.js'
import type { Served } from '../../src/bus/server.ts'
import { countColumn, textColumn } from '../../src/store/columns.ts'
import { createBus, right, type TestBus } from '../fixtures/bus.ts'
import { eventsIn, follow } from '../fixtures/events.ts'
import { type Answer, jsonHeaders, send, talkBody } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'

const withBus = async (
  play: (bus: TestBus) => Promise<void>,
  facts: Parameters<typeof createBus>[0] = {},
): Promise<void> => {
  const bus = await createBus(facts)
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

const ask = (served: Served, more: Readonly<Record<string, unknown>> = {}, bearer: string | null = 'k') =>
  send(served.port, { headers: jsonHeaders(bearer), body: talkBody(more) })

const cancel = (
  served: Served,
  turn: string,
  bearer: string | null = 'k',
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  send(served.port, { path: `/api/turns/${turn}/cancel`, headers: { ...jsonHeaders(bearer), ...headers } })

const textOf = ({ json }: Answer): string => String(Reflect.get(Object(json), 'text'))

type Call = Awaited<ReturnType<TestBus['calls']>>[number]

const noted = async (bus: TestBus, what: RegExp, times = 1): Promise<readonly Call[]> => {
  for (;;) {
    const found = (await bus.calls()).filter(call => what.test(call.what))
    if (found.length >= times) return found
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

const row = t_.intersection([
  t_.type({ turn: textColumn, state: textColumn }),
  t_.partial({ outcome: textColumn, deadlineAtMs: countColumn, startedAtMs: countColumn }),
])
const rows = async ({ store }: TestBus) =>
  right(
    await store.read(sql =>
      sql.all(row, 'SELECT turn, state, outcome, deadlineAtMs, startedAtMs FROM turns ORDER BY number'),
    )(),
  )

test('a running turn is ended: its caller hears what it had said, the other what was ended, and it is settled', async t => {
  await withBus(async bus => {
    const limits = { maxTurnMicroUsd: 100_000, budget: { microUsd: 1_000_000, per: 'total' as const } }
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs', limits })
    const followed = await follow(worker.port)
    await followed.comes('tool')
    const [{ turn = '', pid = 0 } = {}] = await noted(bus, /start/)
    const plain = ask(worker)
    while (worker.activity().queued < 1) await new Promise(setImmediate)

    const answer = await cancel(worker, turn)
    t.is(answer.status, 200)
    t.like(answer.json, { success: true, text: `Turn ${turn} of worker was ended.`, fromInstance: 'worker' })
    t.true(isGone(pid))
    t.like((await rows(bus))[0], { turn, state: 'done', outcome: 'cancelled' })
    t.is(await spentMicroUsd(bus, 'worker'), 100_000)
    const last = eventsIn(await followed.ended).at(-1)
    t.is(last?.event, 'envelope')
    t.like(last?.data, { success: false, errorCode: 'cancelled', retryable: false })
    t.is(last?.data['error'], 'The turn was cancelled by the operator.')
    t.like(last?.data['ext'], { turn, partialText: 'I look.\n\nI found it.' })

    // The same for who waits for one JSON, with the status of the table.
    const [, { turn: second = '' } = {}] = await noted(bus, /ready/, 2)
    await cancel(worker, second)
    const told = await plain
    t.is(told.status, 499)
    t.like(told.json, { errorCode: 'cancelled', ext: { turn: second } })
  })
})

test('a turn that waits leaves the line, and leaves no row', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs' })
    const running = await follow(worker.port)
    await running.comes('started')
    const waiting = await follow(worker.port)
    const turn = String((await waiting.comes('accepted')).data['turn'])
    t.is(textOf(await cancel(worker, turn)), `Turn ${turn} of worker has left the line.`)
    t.like(eventsIn(await waiting.ended).at(-1)?.data, { errorCode: 'cancelled' })
    t.is((await rows(bus)).length, 1)
    t.is((await cancel(worker, turn)).status, 404)
    running.hangUp()
    await worker.idle()
  })
})

test('all that a turn delegated ends with it, running or waiting, and the answer counts it', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const reviewer = await bus.serve('reviewer', { behaviour: 'fans:2/reviewer/worker' })
    const asked = ask(reviewer)
    const [child] = await noted(bus, /ready/)
    while (worker.activity().queued < 1) await new Promise(setImmediate)
    const [parent] = await noted(bus, /start/)
    const answer = await cancel(reviewer, parent?.turn ?? '')
    t.is(textOf(answer), `Turn ${parent?.turn} of reviewer was ended, with the 2 turns under it.`)
    t.deepEqual([worker.activity(), reviewer.activity()], Array(2).fill({ running: 0, queued: 0 }))
    for (const pid of [child?.pid, parent?.pid]) t.true(isGone(pid ?? 0))
    t.like((await asked).json, { errorCode: 'cancelled' })
    t.deepEqual(
      (await rows(bus)).map(({ state, outcome }) => [state, outcome]),
      [
        ['done', 'cancelled'],
        ['done', 'cancelled'],
      ],
    )
  })
})

test('a turn token ends what its turn has asked for, and nothing else', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000' })
    const reviewer = await bus.serve('reviewer', { behaviour: 'delegates:reviewer/worker,shows-token' })
    const stranger = await bus.serve('stranger', { behaviour: 'talks,hangs,shows-token' })
    const strange = await follow(stranger.port)
    const [{ what: foreign = '', turn: foreignTurn = '' } = {}] = await noted(bus, /^token/)
    const asked = ask(reviewer)
    const child = (await noted(bus, /ready/, 2)).find(({ turn }) => turn !== foreignTurn)
    const own = (await noted(bus, /^token/, 2)).find(({ what }) => what !== foreign)

    const denied = await cancel(worker, child?.turn ?? '', foreign.slice('token '.length))
    t.is(denied.status, 403)
    t.like(denied.json, { errorCode: 'peer_not_allowed' })
    const token = own?.what.slice('token '.length) ?? ''
    t.like((await cancel(reviewer, own?.turn ?? '', token)).json, { errorCode: 'peer_not_allowed' })
    t.is(worker.activity().running, 1)
    // The instance that one asks need not be the one that runs it, as long as its process does.
    t.is(textOf(await cancel(stranger, child?.turn ?? '', token)), `Turn ${child?.turn} of worker was ended.`)
    const inner: unknown = JSON.parse(textOf(await asked))
    t.like(inner, { errorCode: 'cancelled', error: `The turn was cancelled by turn ${own?.turn} of reviewer.` })
    strange.hangUp()
    await stranger.idle()
  })
})

test('cancelled twice, at once or later: both are told, and it is ended once', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs' })
    const followed = await follow(worker.port)
    const turn = String((await followed.comes('accepted')).data['turn'])
    await followed.comes('tool')
    const both = await Promise.all([cancel(worker, turn), cancel(worker, turn)])
    for (const answer of both) t.is(textOf(answer), `Turn ${turn} of worker was ended.`)
    t.is(textOf(await cancel(worker, turn)), `Turn ${turn} of worker was over already (cancelled).`)
    t.is((await rows(bus)).length, 1)
  })
})

test('the guards are those of a talk; what is not there is 404', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', {})
    const unknown = await cancel(worker, 'ffffffffffffffff')
    t.is(unknown.status, 404)
    t.like(unknown.json, { success: false, errorCode: 'invalid_request' })
    for (const bearer of [null, 'wrong', 'f'.repeat(64)]) t.is((await cancel(worker, 'x', bearer)).status, 401)
    t.is((await cancel(worker, 'x', 'k', { Origin: 'http://localhost' })).status, 400)
    t.is((await cancel(worker, 'x', 'k', { Host: 'example.org' })).status, 400)
    const wrong = await send(worker.port, { method: 'GET', path: '/api/turns/x/cancel', headers: jsonHeaders() })
    t.is(wrong.status, 405)
    t.is(wrong.headers['allow'], 'POST')
    for (const path of ['/api/turns//cancel', '/api/turns/x', '/api/turns/x/cancel/', '/api/turns/%ZZ/cancel'])
      t.is((await send(worker.port, { path, headers: jsonHeaders() })).status, 404, path)
  })
})

test('who gave up for itself alone ends no turn that another waits for, and any that nobody shares', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'talks,hangs', concurrency: 2 })
    const givesUp = (turn: string, query: string): Promise<Answer> =>
      send(worker.port, { path: `/api/turns/${turn}/cancel${query}`, headers: jsonHeaders() })
    const shared = await follow(worker.port, { headers: { 'Idempotency-Key': 'k' } })
    await shared.comes('tool')
    const turn = String((await shared.comes('accepted')).data['turn'])
    t.is(textOf(await givesUp(turn, '?unless=waited-for')), `Turn ${turn} of worker goes on: another waits for it.`)
    t.is((await rows(bus))[0]?.state, 'running')
    t.is(textOf(await givesUp(turn, '?unless=')), `Turn ${turn} of worker was ended.`, 'a word that nobody knows')
    const own = await follow(worker.port)
    await own.comes('tool')
    const other = String((await own.comes('accepted')).data['turn'])
    t.is(textOf(await givesUp(other, '?unless=waited-for')), `Turn ${other} of worker was ended.`)
  })
})

test('without a secret a cancel is a claim like any other', async t => {
  await withBus(
    async bus => {
      const worker = await bus.serve('worker', { behaviour: 'talks,hangs' })
      const followed = await follow(worker.port)
      await followed.comes('tool')
      const [{ turn = '' } = {}] = await noted(bus, /ready/)
      t.is((await cancel(worker, turn, null)).status, 200)
      await worker.idle()
    },
    { secret: undefined },
  )
})

test('a talk of a turn has no longer than is left of its time, and the sentence says whose that is', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'slow:600000', peers: ['reviewer'], concurrency: 2 })
    const reviewer = await bus.serve('reviewer', { behaviour: 'talks,hangs,shows-token' })
    const followed = await follow(reviewer.port)
    const [{ what = '', turn = '' } = {}] = await noted(bus, /^token/)
    const token = what.slice('token '.length)
    const [parent] = await rows(bus)
    t.true(Math.abs((parent?.deadlineAtMs ?? 0) - (parent?.startedAtMs ?? 0) - 60_000) < 5000)

    const caller = new AbortController()
    const body = talkBody({ fromInstance: 'reviewer', depth: 2 })
    const patient = send(worker.port, { headers: jsonHeaders(token), body, signal: caller.signal })
    await noted(bus, /ready/, 2)
    const child = (await rows(bus))[1]
    // A part is kept, for the turn to make something of the answer.
    t.true((child?.deadlineAtMs ?? 0) <= (parent?.deadlineAtMs ?? 0) - 4000)
    t.true((child?.deadlineAtMs ?? 0) > (parent?.deadlineAtMs ?? 0) - 15_000)
    caller.abort()
    await t.throwsAsync(patient)

    right(
      await bus.store.write(sql =>
        sql.run('UPDATE turns SET deadlineAtMs = ? WHERE turn = ?', Date.now() + 1500, turn),
      )(),
    )
    const late = await ask(worker, { fromInstance: 'reviewer', depth: 2 }, token)
    t.is(late.status, 504)
    const { error = '' } = Object(late.json)
    t.regex(
      error,
      new RegExp(
        `^No answer within [\\d.]+ m?s, what was left of the time of the turn that asked \\(${turn} of reviewer\\); it was ended\\.$`,
      ),
    )
    followed.hangUp()
    await reviewer.idle()
  })
})

test('a talk of a turn whose time is over begins nothing, and is charged nothing', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 1_000_000, per: 'total' as const } }
    const worker = await bus.serve('worker', { peers: ['reviewer'], limits })
    const reviewer = await bus.serve('reviewer', { behaviour: 'talks,hangs,shows-token' })
    const followed = await follow(reviewer.port)
    const [{ what = '', turn = '' } = {}] = await noted(bus, /^token/)
    right(
      await bus.store.write(sql => sql.run('UPDATE turns SET deadlineAtMs = ? WHERE turn = ?', Date.now() - 1, turn))(),
    )
    const late = await ask(worker, { fromInstance: 'reviewer', depth: 2 }, what.slice('token '.length))
    t.like(late.json, { success: false, errorCode: 'timeout' })
    t.is(Reflect.get(Object(late.json), 'ext'), undefined)
    t.is((await rows(bus)).length, 1)
    t.is(await spentMicroUsd(bus, 'worker'), 0)
    followed.hangUp()
    await reviewer.idle()
  })
})

test('a turn that says nothing is ended by the idleTimeout of its instance, when it has one', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { behaviour: 'timeout', idleTimeoutMs: 300 })
    const answer = await ask(worker)
    t.is(answer.status, 504)
    t.regex(String(Object(answer.json).error), /idle.*300 ms.*"idleTimeout"/)
  })
})
