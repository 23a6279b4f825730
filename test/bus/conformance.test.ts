import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import test, { type ExecutionContext } from 'ava'
import * as t from 'io-ts/lib/index.js'
import command from '../../engines/command.ts'
import type { Served } from '../../src/bus/server.ts'
import { limitMicroUsd } from '../../src/protocol/money.ts'
import { createBus, type InstanceWish, right, type TestBus } from '../fixtures/bus.ts'
import { type Answer, jsonHeaders, send, sendRaw, talkBody } from '../fixtures/http.ts'
import { spend, spentMicroUsd } from '../fixtures/money.ts'

const conformanceCase = t.type({
  id: t.string,
  area: t.string,
  setup: t.UnknownRecord,
  request: t.UnknownRecord,
  expect: t.UnknownRecord,
})
type Case = t.TypeOf<typeof conformanceCase>

const file: unknown = JSON.parse(readFileSync(new URL('../vectors/conformance.json', import.meta.url), 'utf8'))
const cases = right(t.type({ cases: t.array(conformanceCase) }).decode(file)).cases.filter(one => one.area !== 'client')

const setupCodec = t.intersection([
  t.type({
    busEnabled: t.boolean,
    secret: t.union([t.string, t.null]),
    peers: t.union([t.string, t.array(t.string)]),
    maxDepth: t.number,
    budget: t.union([t.null, t.type({ limitUsd: t.number, usedUsd: t.number })]),
    engine: t.string,
  }),
  t.partial({ turnTimeoutMs: t.number, handler: t.string }),
])
const requestCodec = t.partial({
  method: t.string,
  path: t.string,
  headers: t.record(t.string, t.union([t.string, t.null])),
  headerEncoding: t.string,
  body: t.string,
  bodyBase64: t.string,
  bodyGenerate: t.intersection([
    t.type({ fromInstance: t.string, depth: t.number, promptFill: t.string }),
    t.partial({ totalBytes: t.number, promptBytes: t.number }),
  ]),
  transfer: t.union([t.literal('chunked'), t.literal('byte-by-byte')]),
  raw: t.string,
})
type Request = t.TypeOf<typeof requestCodec>

const brokenEngine = { ...command, command: () => JSON.parse('{"nonsense":true}') }

const wishOf = (setup: t.TypeOf<typeof setupCodec>): InstanceWish => ({
  enabled: setup.busEnabled,
  peers: typeof setup.peers === 'string' ? [setup.peers] : setup.peers,
  maxDepth: setup.maxDepth,
  concurrency: 4,
  // How slow a slow CLI is, is not the point: these run until they are ended.
  behaviour: setup.engine.replace(/^slow:(?:1000|5000)/, 'slow:600000'),
  ...(setup.budget === null
    ? {}
    : { limits: { budget: { microUsd: limitMicroUsd(setup.budget.limitUsd), per: 'total' as const } } }),
  ...(setup.handler === 'returns-non-envelope' ? { engine: brokenEngine } : {}),
  settings: {
    env: [],
    // On a busy machine a CLI may take a second to begin, and it is looked for whether it did.
    ...(setup.turnTimeoutMs === undefined ? {} : { timeoutMs: 8 * setup.turnTimeoutMs }),
    ...(setup.engine === 'missing-binary' ? { cli: ['errand-no-such-cli'] } : {}),
  },
})

const generated = ({
  fromInstance,
  depth,
  promptFill,
  totalBytes,
  promptBytes,
}: NonNullable<Request['bodyGenerate']>): string => {
  const around = Buffer.byteLength(JSON.stringify({ fromInstance, depth, prompt: '' }))
  const length = promptBytes ?? (totalBytes ?? around) - around
  return JSON.stringify({ fromInstance, depth, prompt: promptFill.repeat(length) })
}

const ask = async (served: Served, request: Request): Promise<Answer> => {
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).map(([name, value]) => [
      name,
      value?.replace('{port}', String(served.port)) ?? null,
    ]),
  )
  const body = request.bodyBase64
    ? Buffer.from(request.bodyBase64, 'base64')
    : request.bodyGenerate
      ? generated(request.bodyGenerate)
      : request.body
  return await send(served.port, {
    headers,
    ...(request.method === undefined ? {} : { method: request.method }),
    ...(request.path === undefined ? {} : { path: request.path }),
    ...(body === undefined ? {} : { body }),
    ...(request.transfer === undefined ? {} : { transfer: request.transfer }),
  })
}

const meets = (rule: unknown, value: unknown): boolean => {
  if (Array.isArray(rule) && rule.every(one => typeof one === 'string' && !one.includes('-')))
    return rule.some(one => meets(one, value))
  if (Array.isArray(rule)) return JSON.stringify(rule) === JSON.stringify(value)
  if (rule === 'absent') return value === undefined
  if (rule === 'string') return typeof value === 'string'
  if (rule === 'boolean') return typeof value === 'boolean'
  if (rule === 'number>=0') return typeof value === 'number' && value >= 0
  if (rule === 'number>=0 or absent') return value === undefined || (typeof value === 'number' && value >= 0)
  if (rule === 'non-empty string') return typeof value === 'string' && value !== ''
  return rule === value
}

const checkJson = (t: ExecutionContext, expected: unknown, answer: Answer): void => {
  const json = answer.json
  t.true(typeof json === 'object' && json !== null, `no JSON: ${answer.text.slice(0, 200)}`)
  if (typeof json !== 'object' || json === null) return
  for (const [field, rule] of Object.entries(Object(expected))) {
    if (field === 'capabilitiesNote') t.false(answer.text.includes('x-future'))
    else if (field === 'textType') t.true(meets(rule, Reflect.get(json, 'text')))
    else
      t.true(
        meets(rule, Reflect.get(json, field)),
        `${field} must be ${JSON.stringify(rule)}: ${answer.text.slice(0, 300)}`,
      )
  }
}

const withCase = async (
  { setup }: Case,
  play: (bus: TestBus, served: Served, setup: t.TypeOf<typeof setupCodec>) => Promise<void>,
): Promise<void> => {
  const read = right(setupCodec.decode(setup))
  const bus = await createBus({ secret: read.secret ?? undefined })
  try {
    const served = await bus.serve('worker', wishOf(read))
    if (read.budget && read.budget.usedUsd > 0) await spend(bus, 'worker', limitMicroUsd(read.budget.usedUsd))
    await play(bus, served, read)
  } finally {
    await bus.close()
  }
}

const starts = async (bus: TestBus): Promise<number> =>
  (await bus.calls()).filter(({ what }) => what === 'start').length

/** What holds for every case: the status, the fields, how often the provider CLI was started, what must not be told. */
const plain = (one: Case) => async (t: ExecutionContext) => {
  await withCase(one, async (bus, served) => {
    const request = right(requestCodec.decode(one.request))
    const startedAtMs = performance.now()
    const { status, json, engineCalls, neverContains, headersAbsent, latencyMsMax, usedUsdAfter } = one.expect
    if (request.raw !== undefined) {
      const text = await sendRaw(served.port, request.raw, text => /^HTTP\/1\.1 \d+ [\s\S]*\}$/.test(text))
      t.regex(text, /^HTTP\/1\.1 \d{3} /)
      if (typeof status === 'number') t.regex(text, new RegExp(`^HTTP/1\\.1 ${status} `))
    } else {
      const answer = await ask(served, request)
      if (typeof status === 'number') t.is(answer.status, status, answer.text.slice(0, 300))
      if (Array.isArray(status))
        t.true(status.includes(answer.status), `${answer.status}: ${answer.text.slice(0, 300)}`)
      if (json !== undefined) checkJson(t, json, answer)
      if (Array.isArray(headersAbsent)) for (const name of headersAbsent) t.is(answer.headers[String(name)], undefined)
      if (Array.isArray(neverContains)) t.notRegex(answer.text, /canary-api-key|Bearer|[0-9a-f]{64}/)
    }
    if (typeof engineCalls === 'number' && one.setup['engine'] !== 'missing-binary')
      t.is(await starts(bus), engineCalls)
    // Not a race against the clock: what holds the pipe would hold it for a minute.
    if (typeof latencyMsMax === 'number') t.true(performance.now() - startedAtMs < 30_000)
    if (usedUsdAfter === '>0') t.true((await spentMicroUsd(bus, 'worker')) > 0)
    // Whatever was sent, the next ordinary request is served as ever.
    t.is((await send(served.port, { method: 'GET', path: '/api/health' })).status, 200)
  })
}

type Play = (t: ExecutionContext, one: Case) => Promise<void>

/** The cases that are more than one request and one answer. */
const special: Readonly<Record<string, Play>> = {
  'transport-20': async (t, one) =>
    withCase(one, async (_bus, served) => {
      const each = (bearer: string, prompt: string): string => {
        const body = talkBody({ prompt })
        return `POST /api/talk HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer ${bearer}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      }
      const text = await sendRaw(served.port, each('wrong', 'one') + each('k', 'two'), text =>
        text.includes('"success":true'),
      )
      t.regex(text, /^HTTP\/1\.1 401 [\s\S]*"auth_failed"[\s\S]*HTTP\/1\.1 200 [\s\S]*"success":true/)
    }),
  'transport-26': async (t, one) =>
    withCase(one, async (bus, served) => {
      const gone = new AbortController()
      const talks = Array.from({ length: 5 }, () =>
        send(served.port, { headers: jsonHeaders(), body: talkBody(), signal: gone.signal }),
      )
      while ((await bus.calls()).every(({ what }) => what !== 'ready')) await new Promise(setImmediate)
      t.is((await send(served.port, { method: 'GET', path: '/api/health' })).status, 200)
      gone.abort()
      for (const talk of talks) await t.throwsAsync(talk)
    }),
  'browser-18': async (t, one) =>
    withCase(one, async (_bus, served) => {
      const reaches = (host: string): Promise<boolean> =>
        new Promise(resolve => {
          const socket = connect(served.port, host, () => resolve(true))
          socket.once('error', () => resolve(false))
          socket.once('connect', () => socket.destroy())
        })
      t.true(await reaches('127.0.0.1'))
      const outside = Object.values(networkInterfaces())
        .flatMap(all => all ?? [])
        .filter(one => one.family === 'IPv4' && !one.internal)
      for (const { address } of outside) t.false(await reaches(address), address)
      t.false(await reaches('127.0.0.2'))
    }),
  'depth-08': async t => {
    const bus = await createBus()
    try {
      const a = await bus.serve('a', { concurrency: 2, peers: ['caller', 'b'], behaviour: 'delegates:a/b' })
      await bus.serve('b', { concurrency: 2, peers: ['a'], behaviour: 'delegates:b/a' })
      const answer = await send(a.port, { headers: jsonHeaders(), body: talkBody() })
      t.is(answer.status, 200)
      t.true(answer.text.includes('max_depth_exceeded'), answer.text)
      t.is(await starts(bus), 3)
    } finally {
      await bus.close()
    }
  },
  'budget-07': async (t, one) =>
    withCase(one, async (_bus, served) => {
      const codes: unknown[] = []
      for (let n = 0; n < 4; n++) {
        const { json } = await send(served.port, { headers: jsonHeaders(), body: talkBody() })
        codes.push(Reflect.get(Object(json), 'errorCode'))
      }
      t.deepEqual(codes, [undefined, undefined, undefined, 'budget_exhausted'])
    }),
  'budget-10': async (t, one) => hangUp(t, one, async bus => t.true((await spentMicroUsd(bus, 'worker')) > 0)),
  'concurrency-03': async (t, one) => hangUp(t, one, async () => undefined),
  'budget-11': async (t, one) => {
    const bus = await createBus()
    try {
      const wish = wishOf(right(setupCodec.decode(one.setup)))
      const first = await bus.serve('worker', wish)
      await spend(bus, 'worker', limitMicroUsd(0.4))
      await first.stop(0)
      const again = await createBus({ folder: bus.folder })
      const second = await again.serve('worker', wish)
      t.is((await send(second.port, { headers: jsonHeaders(), body: talkBody() })).status, 200)
      t.is(await spentMicroUsd(again, 'worker'), 404_110)
      await again.close()
    } finally {
      await bus.close()
    }
  },
  'budget-17': async (t, one) =>
    withCase(one, async (bus, served, setup) => {
      const ask = () => send(served.port, { headers: jsonHeaders(), body: talkBody() })
      t.is((await ask()).status, 402)
      await served.stop(0)
      const raised = await bus.serve('worker', {
        ...wishOf(setup),
        limits: { budget: { microUsd: 5_000_000, per: 'total' } },
      })
      t.is((await send(raised.port, { headers: jsonHeaders(), body: talkBody() })).status, 200)
    }),
  'concurrency-01': async (t, one) =>
    withCase(one, async (_bus, served) => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          send(served.port, { headers: jsonHeaders(), body: talkBody({ prompt: `nonce-${n}` }) }),
        ),
      )
      answers.forEach(({ json }, n) => {
        t.like(json, { success: true, text: `echo:nonce-${n}` })
      })
    }),
  'concurrency-05': async (t, one) =>
    withCase(one, async (_bus, served) => {
      for (let n = 0; n < 2; n++) {
        t.like((await send(served.port, { headers: jsonHeaders(), body: talkBody() })).json, { text: 'fresh' })
      }
    }),
  'concurrency-07': async (t, one) =>
    withCase(one, async (_bus, served) => {
      const body = talkBody({ ext: { requestId: 'r1' } })
      const answers = await Promise.all([1, 2].map(() => send(served.port, { headers: jsonHeaders(), body })))
      for (const { json } of answers) t.like(json, { success: true })
    }),
}

const hangUp = async (t: ExecutionContext, one: Case, after: (bus: TestBus) => Promise<unknown>): Promise<void> =>
  withCase(one, async (bus, served) => {
    const gone = new AbortController()
    const talk = send(served.port, { headers: jsonHeaders(), body: talkBody(), signal: gone.signal })
    while ((await bus.calls()).every(({ what }) => what !== 'ready')) await new Promise(setImmediate)
    gone.abort()
    await t.throwsAsync(talk)
    await served.idle()
    const pid = (await bus.calls()).find(({ what }) => what === 'start')?.pid ?? 0
    t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    t.true((await bus.calls()).every(({ what }) => what !== 'finished'))
    await after(bus)
  })

for (const one of cases) {
  const play = special[one.id]
  test(`${one.id} (${one.area})`, play ? t => play(t, one) : plain(one))
}

test('the file of cases is whole', t => {
  t.is(cases.length, 133)
  for (const id of Object.keys(special))
    t.true(
      cases.some(one => one.id === id),
      id,
    )
})
