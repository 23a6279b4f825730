import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import * as io from 'io-ts/lib/index.js'
import claude from '../../engines/claude.ts'
import command from '../../engines/command.ts'
import type { Served } from '../../src/bus/server.ts'
import { onThread } from '../../src/bus/thread.ts'
import { failure } from '../../src/protocol/failure.ts'
import { textColumn } from '../../src/store/columns.ts'
import { createBus, type InstanceWish, right, type TestBus } from '../fixtures/bus.ts'
import { eventsIn, follow } from '../fixtures/events.ts'
import { type Answer, jsonHeaders, send, talkBody } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'

const talker = fileURLToPath(new URL('../fixtures/talker.mjs', import.meta.url))
const perRun = 4110

const withBus = async (play: (bus: TestBus) => Promise<void>, facts: Parameters<typeof createBus>[0] = {}) => {
  const bus = await createBus(facts)
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

const serve = (bus: TestBus, name = 'worker', { settings, ...wish }: InstanceWish = {}): Promise<Served> =>
  bus.serve(name, { ...wish, settings: { cli: [process.execPath, talker, join(bus.folder, 'calls')], ...settings } })

const ask = (served: Served, prompt: string, thread: unknown = 't', more: object = {}): Promise<Answer> =>
  send(served.port, { headers: jsonHeaders(), body: talkBody({ prompt, ext: { thread }, ...more }) })

const askAlone = (served: Served, prompt: string): Promise<Answer> => ask(served, prompt, '', { ext: {} })

const field = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce((at: unknown, name) => Reflect.get(Object(at), name), value)

/** What the fake said of the session that it was in. */
const said = ({ json, text }: Answer) => {
  const answer: unknown = JSON.parse(String(field(json, 'text') || '{}'))
  if (field(json, 'success') !== true) throw new Error(text)
  return { session: String(field(answer, 'session')), heard: field(answer, 'heard'), alone: field(answer, 'alone') }
}

const starts = async (bus: TestBus) =>
  (await bus.calls())
    .filter(({ what }) => what === 'start')
    .map(call => {
      const argv = field(call, 'argv')
      return Array.isArray(argv) ? argv.map(String) : []
    })

const resumed = (argv: readonly string[]): string | undefined =>
  argv.includes('--resume') ? argv[argv.indexOf('--resume') + 1] : undefined

const noted = async (bus: TestBus, what: string, times = 1) => {
  for (;;) {
    const found = (await bus.calls()).filter(call => call.what === what)
    if (found.length >= times) return found
    await new Promise(setImmediate)
  }
}

const threads = async ({ store }: TestBus) =>
  right(await store.read(sql => sql.all(io.type({ session: textColumn }), 'SELECT session FROM threads'))())

test('a thread goes on with its session by the id of it, and only what a talk added is charged', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const first = await ask(worker, 'one')
    const second = await ask(worker, 'two')
    const third = await ask(worker, 'three')
    const { session } = said(first)
    t.like(said(third), { session, heard: ['one', 'two', 'three'] })
    t.is(field(third.json, 'ext', 'thread'), 't')
    t.is(field(third.json, 'ext', 'warning'), undefined)
    // The CLI tells 4110, 8220, 12330.
    for (const answer of [first, second, third]) t.is(field(answer.json, 'ext', 'costUsd'), perRun / 1e6)
    t.is(await spentMicroUsd(bus, 'worker'), 3 * perRun)
    const runs = await starts(bus)
    t.deepEqual(runs.map(resumed), [undefined, session, session])
    for (const flag of ['--continue', '-c', '--last', '--session-id', '--fork-session'])
      t.false(runs.flat().includes(flag), flag)
  })
})

test('no thread is shared: not by senders, not by instances, not by names; a talk without one is by itself', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const helper = await serve(bus, 'helper')
    const sessions = [
      said(await ask(worker, 'a')).session,
      said(await ask(worker, 'b', 't', { fromInstance: 'other' })).session,
      said(await ask(worker, 'c', 'T')).session,
      said(await ask(helper, 'd')).session,
      said(await askAlone(worker, 'e')).session,
      said(await askAlone(worker, 'f')).session,
    ]
    t.is(new Set(sessions).size, 6)
    t.deepEqual((await starts(bus)).map(resumed), Array(6).fill(undefined))
    t.deepEqual(said(await ask(worker, 'g', 't', { fromInstance: 'other' })).heard, ['b', 'g'])
    t.deepEqual(said(await ask(worker, 'h')).heard, ['a', 'h'])
  })
})

test('a thread outlives the bus', async t => {
  await withBus(async before => {
    const { session } = said(await ask(await serve(before), 'one'))
    await withBus(
      async bus => {
        t.like(said(await ask(await serve(bus), 'two')), { session, heard: ['one', 'two'] })
        t.is(await spentMicroUsd(bus, 'worker'), 2 * perRun)
      },
      { folder: before.folder },
    )
  })
})

test('another engine begins a new session', async t => {
  await withBus(async bus => {
    const before = await serve(bus)
    const { session } = said(await ask(before, 'one'))
    await before.stop(0)
    const after = await serve(bus, 'worker', { engine: { ...claude, name: 'other' } })
    t.like(said(await ask(after, 'two')), { heard: ['two'] })
    await after.stop(0)
    // The thread is of the engine that was last on it.
    const again = said(await ask(await serve(bus), 'three'))
    t.deepEqual(again.heard, ['three'])
    t.not(again.session, session)
  })
})

test('a session that the CLI has lost: once more without it, told, and only the run that ran is charged', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const { session } = said(await ask(worker, 'one'))
    await rm(join(bus.folder, 'calls.sessions', session))
    const answer = await ask(worker, 'two')
    const anew = said(answer)
    t.deepEqual(anew.heard, ['two'])
    const warning =
      'The CLI has lost the session of thread t, so a new one began: it knows nothing of what was said before.'
    t.is(field(answer.json, 'ext', 'warning'), warning)
    t.is(field(answer.json, 'ext', 'thread'), 't')
    const next = await ask(worker, 'three')
    t.like(said(next), { session: anew.session, heard: ['two', 'three'] })
    t.is(field(next.json, 'ext', 'warning'), undefined)
    t.deepEqual((await starts(bus)).map(resumed), [undefined, session, undefined, anew.session])
    t.is(await spentMicroUsd(bus, 'worker'), 3 * perRun)
  })
})

test('lost, and no new one begins: session_state after two starts, and the dead id is not kept', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const { session } = said(await ask(worker, 'one'))
    const answer = await ask(worker, 'never')
    t.is(answer.status, 409)
    t.like(answer.json, { errorCode: 'session_state', retryable: false, ext: { thread: 't', costUsd: 0 } })
    t.true(
      String(field(answer.json, 'error')).startsWith(
        'The session of thread t is lost, and no new one could begin: No conv',
      ),
    )
    t.deepEqual((await starts(bus)).map(resumed), [undefined, session, undefined])
    t.deepEqual(await threads(bus), [])
    t.is(await spentMicroUsd(bus, 'worker'), perRun)
    t.deepEqual(said(await ask(worker, 'two')).heard, ['two'])
    t.is((await starts(bus)).length, 4)
  })
})

test('a first talk that finds no session at all is no retry, and leaves no thread', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    t.like((await ask(worker, 'never')).json, { errorCode: 'session_state' })
    t.is((await starts(bus)).length, 1)
    t.deepEqual(await threads(bus), [])
  })
})

test('a resume that opened another session without a word has answered: seen, told, charged as a whole, not run again', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const { session } = said(await ask(worker, 'one'))
    await ask(worker, 'two')
    const answer = await ask(worker, 'strays')
    const other = said(answer)
    t.not(other.session, session)
    t.true(String(field(answer.json, 'ext', 'warning')).startsWith('The CLI has lost the session of thread t'))
    t.is(field(answer.json, 'ext', 'costUsd'), perRun / 1e6)
    t.is((await starts(bus)).length, 3)
    t.like(said(await ask(worker, 'four')), { session: other.session, heard: ['strays', 'four'] })
    t.is(await spentMicroUsd(bus, 'worker'), 4 * perRun)
  })
})

test('a run that fails after it spent moves the total on, so that nothing is charged twice', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const { session } = said(await ask(worker, 'one'))
    t.like((await ask(worker, 'crash')).json, { errorCode: 'engine_cli', ext: { costUsd: perRun / 1e6, thread: 't' } })
    const next = await ask(worker, 'three')
    t.like(said(next), { session, heard: ['one', 'crash', 'three'] })
    t.is(field(next.json, 'ext', 'costUsd'), perRun / 1e6)
    t.is(await spentMicroUsd(bus, 'worker'), 3 * perRun)
  })
})

test('a cancel keeps the thread, also when it was the first talk on it', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const followed = await follow(worker.port, { more: { prompt: 'hang', ext: { thread: 't' } } })
    const turn = String((await followed.comes('accepted')).data['turn'])
    await followed.comes('text')
    await send(worker.port, { path: `/api/turns/${turn}/cancel`, headers: jsonHeaders() })
    const last = eventsIn(await followed.ended).at(-1)?.data
    t.like(last, { errorCode: 'cancelled', ext: { turn, thread: 't', partialText: 'I think.' } })
    t.deepEqual(said(await ask(worker, 'two')).heard, ['hang', 'two'])
  })
})

test('a timeout keeps the thread', async t => {
  await withBus(async bus => {
    const before = await serve(bus)
    const { session } = said(await ask(before, 'one'))
    await before.stop(0)
    const hasty = await serve(bus, 'worker', { settings: { timeoutMs: 1000 } })
    const answer = await ask(hasty, 'hang')
    t.like(answer.json, { errorCode: 'timeout', ext: { thread: 't' } })
    t.is(typeof field(answer.json, 'ext', 'turn'), 'string')
    await hasty.stop(0)
    t.is(said(await ask(await serve(bus), 'three')).session, session)
  })
})

const arrives = async (served: Served, queued: number) => {
  while (served.activity().queued < queued) await new Promise(setImmediate)
}

test('turns on one thread run one after another, in their order, although there are slots', async t => {
  await withBus(async bus => {
    const worker = await serve(bus, 'worker', { concurrency: 4 })
    const first = ask(worker, 'gate open')
    await noted(bus, 'ready')
    const others: Promise<Answer>[] = []
    for (const prompt of ['b', 'c', 'd', 'e']) {
      others.push(ask(worker, prompt))
      await arrives(worker, others.length)
    }
    t.is((await starts(bus)).length, 1)
    await writeFile(join(bus.folder, 'calls.open'), '')
    const { session } = said(await first)
    const answers = await Promise.all(others)
    t.deepEqual(
      answers.map(said).map(({ session: of, alone }) => [of, alone]),
      Array(4).fill([session, true]),
    )
    t.deepEqual(said(answers.at(-1) ?? (await first)).heard, ['gate open', 'b', 'c', 'd', 'e'])
    t.is(await spentMicroUsd(bus, 'worker'), 5 * perRun)
  })
})

test('who waits for a thread holds up nobody behind it', async t => {
  await withBus(async bus => {
    const worker = await serve(bus, 'worker', { concurrency: 2 })
    const first = ask(worker, 'gate open')
    await noted(bus, 'ready')
    const second = ask(worker, 'two')
    await arrives(worker, 1)
    t.deepEqual(said(await ask(worker, 'x', 'u')).heard, ['x'])
    t.deepEqual(said(await askAlone(worker, 'y')).heard, ['y'])
    t.deepEqual(worker.activity(), { running: 1, queued: 1 })
    await writeFile(join(bus.folder, 'calls.open'), '')
    t.deepEqual(said(await second).heard, ['gate open', 'two'])
    t.deepEqual(said(await first).heard, ['gate open'])
  })
})

test('who waits for a thread takes no more than the slots that there are', async t => {
  await withBus(async bus => {
    const worker = await serve(bus, 'worker', { concurrency: 2 })
    const names = ['p', 'q', 'r']
    const talks = names.flatMap(thread => [1, 2, 3].map(n => ask(worker, `${thread}${n}`, thread)))
    let most = 0
    const look = setInterval(() => {
      most = Math.max(most, worker.activity().running)
    }, 1)
    const answers = (await Promise.all(talks)).map(said)
    clearInterval(look)
    t.true(most <= 2)
    t.true(answers.every(({ alone }) => alone))
    t.is(new Set(answers.map(({ session }) => session)).size, 3)
    t.deepEqual(worker.activity(), { running: 0, queued: 0 })
  })
})

test('who gives up while it waits for a thread leaves the line', async t => {
  await withBus(async bus => {
    const worker = await serve(bus, 'worker', { concurrency: 2 })
    const first = ask(worker, 'gate open')
    await noted(bus, 'ready')
    const waiting = await follow(worker.port, { more: { prompt: 'two', ext: { thread: 't' } } })
    await waiting.comes('accepted')
    waiting.hangUp()
    while (worker.activity().queued > 0) await new Promise(setImmediate)
    await writeFile(join(bus.folder, 'calls.open'), '')
    await first
    t.deepEqual(said(await ask(worker, 'three')).heard, ['gate open', 'three'])
  })
})

test('a talk of a turn that would wait for itself on a thread is busy at once', async t => {
  await withBus(async bus => {
    const wish = { concurrency: 4, maxDepth: 9 }
    await serve(bus, 'worker', wish)
    const reviewer = await serve(bus, 'reviewer', wish)
    const ext = { thread: 't' }
    const inner = { to: 'worker', fromInstance: 'reviewer', depth: 4, prompt: 'hello', ext }
    const back = { to: 'reviewer', fromInstance: 'worker', depth: 3, prompt: JSON.stringify(inner) }
    const outer = { to: 'worker', fromInstance: 'reviewer', depth: 2, prompt: JSON.stringify(back), ext }
    const answer = await askAlone(reviewer, JSON.stringify(outer))
    const innermost = [1, 2, 3].reduce((at: unknown) => JSON.parse(String(field(at, 'text'))), answer.json)
    t.like(innermost, { success: false, errorCode: 'busy', retryable: true })
    t.is(
      field(innermost, 'error'),
      'Thread t of worker is busy with a turn that waits for a talk of its own, so this one could wait without end.',
    )
  })
})

test('an engine that keeps no sessions refuses a thread, and says so', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', { engine: command })
    const answer = await ask(worker, 'one')
    t.is(answer.status, 400)
    t.like(answer.json, {
      errorCode: 'invalid_request',
      error: 'worker runs on the engine command, which keeps no sessions: a talk to it goes on with no thread.',
    })
    t.deepEqual(await bus.calls(), [])
  })
})

test('what a thread may be called', async t => {
  await withBus(async bus => {
    const worker = await serve(bus)
    const wrong = ['', ' ', ' a', 'a b', '../x', '.x', 'ünï', '__proto__', 'a\0', 'x'.repeat(101), null, 5, {}, ['t']]
    for (const thread of wrong) {
      const answer = await ask(worker, 'one', thread)
      t.is(answer.status, 400, JSON.stringify(thread))
      t.like(answer.json, { errorCode: 'invalid_request' })
      t.true(String(field(answer.json, 'error')).includes('ext.thread must be a name of 1 to 100 letters'), answer.text)
    }
    t.deepEqual(await bus.calls(), [])
    for (const thread of ['constructor', 'toString', 'x'.repeat(100), 'a/b:c.d-e_f'])
      t.deepEqual(said(await ask(worker, thread, thread)).heard, [thread])
  })
})

const withFake = (fake: string, env: readonly string[] = []): InstanceWish => ({
  settings: { cli: [fileURLToPath(new URL(`../fixtures/fakes/${fake}.mjs`, import.meta.url))], env },
})

test('SESS-01: the fake that knows no session: each later talk is answered by a fresh run', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', withFake('SESS-01'))
    t.like((await ask(worker, 'one')).json, { success: true, text: 'fresh session' })
    for (const prompt of ['two', 'three']) {
      const { json } = await ask(worker, prompt)
      t.like(json, { success: true, text: 'fresh session', ext: { costUsd: 0.0123 } })
      t.true(String(field(json, 'ext', 'warning')).includes('has lost the session'))
    }
    t.is(await spentMicroUsd(bus, 'worker'), 3 * 12_300)
  })
})

test('SESS-05, BUD-05: fakes that refuse a used id, or whose totals begin anew with each process', async t => {
  await withBus(async bus => {
    const worker = await bus.serve('worker', withFake('SESS-02'))
    t.like((await ask(worker, 'one')).json, { success: true })
    t.like((await ask(worker, 'two')).json, { success: true })
    const counter = await bus.serve('counter', withFake('BUD-05'))
    await ask(counter, 'one')
    await ask(counter, 'two')
    t.is(await spentMicroUsd(bus, 'counter'), 279_282)
  })
})

const torn = async (t: ExecutionContext, environment: Record<string, string>, expected: object, spent: number) => {
  await withBus(
    async bus => {
      const worker = await bus.serve('worker', { ...withFake('SESS-05', ['FAKE_CASE']), concurrency: 5 })
      const answers = await Promise.all([1, 2, 3, 4, 5].map(n => ask(worker, 'hi', `t${n}`)))
      for (const { json } of answers) t.like(json, expected)
      t.is(await spentMicroUsd(bus, 'worker'), spent)
      t.is((await threads(bus)).length, spent === 0 ? 0 : 5)
    },
    { environment: { ...process.env, ...environment } },
  )
}

test(
  'SESS-08: chatter about a torn config among the records breaks nothing',
  torn,
  {},
  { success: true, text: 'recovered from torn config' },
  5 * 12_300,
)
test(
  'SESS-08: who dies of it is engine_cli',
  torn,
  { FAKE_CASE: 'die' },
  { errorCode: 'engine_cli', retryable: true },
  0,
)

test('two threads never hold one session, whatever a CLI takes up by itself', async t => {
  await withBus(async bus => {
    const { ledger, store } = bus
    const facts = {
      instance: 'worker',
      depth: 1,
      engine: 'x',
      owner: 'o',
      tokenDigest: 'd',
      limits: {},
      maxTurnsPerRoot: 9,
    }
    for (const [turn, thread] of [
      ['a', 't'],
      ['b', 'u'],
    ] as const) {
      right(await ledger.enter({ ...facts, turn, root: turn, from: 'caller', thread }, true)())
      const cost = { microUsd: 0, basis: 'none' } as const
      right(await ledger.settle({ turn, cost, tokens: 0, outcome: 'success', threadEnd: { session: 'same' } })())
    }
    const rows = store.read(sql => sql.all(io.type({ thread: textColumn }), 'SELECT thread FROM threads'))
    t.deepEqual(right(await rows()), [{ thread: 't' }])
  })
})

for (const [title, cost, tokens, seconds] of [
  ['nothing', 0, 0, [{ microUsd: 100_000, tokens: 5000 }]],
  ['a part', 60_000, 1000, [{ microUsd: 40_000, tokens: 4000 }]],
  ['all of its money', 100_000, 1000, []],
  ['all of its tokens', 60_000, 5000, []],
] as const) {
  test(`a run that spent ${title} before its session was lost leaves the next one the rest of the hold`, async t => {
    const given: unknown[] = []
    const lost = E.left(failure('session_state', 'lost'))
    const report = { outcome: lost, cost: { microUsd: cost, basis: 'reported' as const }, tokens }
    const turn = {
      talk: { prompt: 'x', from: 'operator', depth: 1, thread: 't' },
      resume: { session: 's' },
      ended: new AbortController().signal,
      allowance: { microUsd: 100_000, tokens: 5000 },
    }
    const outcome = await onThread(turn, async (_resume, allowance) => {
      given.push(allowance)
      return report
    })
    t.deepEqual(given, [turn.allowance, ...seconds])
    t.is(outcome.cost.microUsd, cost * given.length)
  })
}
