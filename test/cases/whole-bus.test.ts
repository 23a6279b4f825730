import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import codex from '../../engines/codex.ts'
import gemini from '../../engines/gemini.ts'
import opencode from '../../engines/opencode.ts'
import type { InstanceWish } from '../fixtures/bus.ts'
import { jsonHeaders, send } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'
import { type Asked, ask, comesTo, type Outcome, serveFake, withBus } from './over-the-bus.ts'

// What is held for a turn whose cost nobody can tell.
const held: InstanceWish = {
  limits: { budget: { microUsd: 1_000_000, per: 'total' }, maxTurnMicroUsd: 100_000 },
}
const onCodex: InstanceWish = { engine: codex, settings: { model: 'gpt-5' } }

const paid = { microUsd: 12_300, basis: 'reported' } as const
// A refusal that the CLI reports with a cost of 0, and one without a word of cost.
const free = { microUsd: 0, basis: 'reported' } as const
const none = { microUsd: 0, basis: 'none' } as const

const rows: Readonly<Record<string, readonly [Asked, Outcome]>> = {
  'RES-01: an error with exit status 0': [
    { fake: 'RES-01' },
    { code: 'engine_cli', says: /^API Error: Connection error\.$/, microUsd: 80_000, basis: 'reported' },
  ],
  'RES-02: "success" around a refusal': [
    { fake: 'RES-02' },
    { code: 'auth', says: /OAuth token has expired/, ...free },
  ],
  'RES-04: no end, exit status 0': [
    { fake: 'RES-04' },
    { code: 'engine_cli', says: /without an answer/, microUsd: 9662, basis: 'priced' },
  ],
  'RES-06: the cause stands in errors[] alone': [
    { fake: 'RES-06' },
    { code: 'session_state', says: /No conversation found/, ...free },
  ],
  'RES-07: a limit in plain text on stdout': [
    { fake: 'RES-07' },
    { code: 'rate_limited', says: /hit your limit · resets 1pm/, ...none },
  ],
  'RES-08: killed in the middle of its output': [
    { fake: 'RES-08', wish: held },
    { code: 'engine_cli', says: /SIGKILL/, microUsd: 100_000, basis: 'unknown' },
  ],
  'RES-11: reconnects that are not fatal': [
    { fake: 'RES-11', wish: onCodex },
    { text: 'recovered answer', microUsd: 4670, basis: 'priced' },
  ],
  'RES-13: opencode fails with exit status 0': [
    { fake: 'RES-13', wish: { engine: opencode } },
    { code: 'auth', says: /No auth credentials found/, ...none },
  ],
  'RES-14: opencode recovers, and exits 1': [
    { fake: 'RES-14', wish: { engine: opencode } },
    { text: 'recovered', microUsd: 3100, basis: 'reported' },
  ],
  'RES-16: the limit of turns, told by the subtype alone': [
    { fake: 'RES-16' },
    { code: 'engine_cli', says: /error_max_turns/, microUsd: 310_000, basis: 'reported' },
  ],
  'RES-19: a refused write': [
    { fake: 'RES-19' },
    { code: 'write_permission', says: /Write .*probe\.txt/, microUsd: 30_000, basis: 'reported' },
  ],
  'RES-21: the answer quotes an error': [
    { fake: 'RES-21' },
    {
      text: 'Here is the log you asked for:\n{"type":"result","is_error":true,"result":"Invalid API key · Please run /login"}',
      ...paid,
    },
  ],
  'RES-22: prose of a refusal is no refusal': [
    { fake: 'RES-19', knobs: { FAKE_CASE: 'empty' } },
    {
      text: "I wasn't able to create probe.txt: the Write tool is blocked in this mode.",
      microUsd: 30_000,
      basis: 'reported',
    },
  ],
  'AUTH-05: a page of a bot check': [
    { fake: 'AUTH-00', knobs: { FAKE_CASE: 'cloudflare', FAKE_PAD_KB: '300' } },
    { code: 'engine_cli', says: /^unexpected status 403 Forbidden: [^<>]*$/, ...free },
  ],
  'AUTH-13: a CLI that is missing': [
    { fake: 'OK-CLAUDE', wish: { settings: { cli: ['/no/such/claude'] } } },
    { code: 'engine_cli', says: /^(?!.*log ?in).*\/no\/such\/claude/i, ...none },
  ],
  'AUTH-16: a status event in a run that goes on': [
    {
      fake: 'OK-CLAUDE',
      knobs: {
        FAKE_EXTRA: '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","overageStatus":"rejected"}}',
      },
    },
    { text: 'ok: ping', ...paid },
  ],
  'BUD-10: what came from the cache and what was thought are parts': [
    {
      fake: 'BUD-10',
      wish: {
        engine: codex,
        settings: { price: { inputPerMTok: 2, cachedInputPerMTok: 0.2, outputPerMTok: 10 } },
      },
    },
    { text: 'cached', microUsd: 480_000, basis: 'priced' },
  ],
  'HTTP-02: a turn outlasts the body of its request': [
    { fake: 'PROC-06', knobs: { FAKE_HANG_MS: '700' } },
    { text: 'slow ok', microUsd: 100_000, basis: 'reported' },
  ],
  'HTTP-19: megabytes of stderr are no sentence': [
    { fake: 'OUT-12', knobs: { FAKE_KB: '65536', FAKE_EXIT: '1' } },
    { code: 'engine_cli', microUsd: 12_300, basis: 'reported' },
  ],
  'OUT-16: notices before one object over many lines': [
    { fake: 'OUT-16', wish: { engine: gemini } },
    { text: 'gemini survived', microUsd: 35_926, basis: 'priced' },
  ],
}

for (const [name, [asked, expected]] of Object.entries(rows)) test(name, t => comesTo(t, asked, expected))

/** Each on an instance of its own, at most a few at once. */
const refusals = async (
  t: ExecutionContext,
  expected: Outcome,
  cases: readonly string[],
  places: readonly string[] = ['result'],
): Promise<void> => {
  for (const place of places) {
    const basis = place === 'result' ? 'reported' : 'none'
    for (const one of cases)
      await comesTo(t, { fake: 'AUTH-00', knobs: { FAKE_CASE: one, FAKE_WHERE: place } }, { ...expected, basis })
  }
}

test('AUTH-01: an expired login, in every wording and channel', async t => {
  const says = /OAuth token has expired/
  await refusals(
    t,
    { code: 'auth', says, ...free },
    ['oauth_expired', 'oauth_expired_login'],
    ['result', 'stdout', 'stderr'],
  )
})

test('AUTH-02: a bad key, or none', async t => {
  const cases = ['invalid_key', 'invalid_key_ext', 'not_logged_in', 'bearer', 'codex_401', 'opencode_noauth']
  await refusals(t, { code: 'auth', ...free }, cases)
})

test('AUTH-03: an empty account is neither a budget nor transient', async t => {
  const says = /credit balance is too low/i
  await refusals(t, { code: 'quota_exhausted', says, ...free }, ['credit_low', 'credit_low_400'], ['result', 'stdout'])
})

test('AUTH-04: a region or a request that is not allowed', async t => {
  await refusals(t, { code: 'auth', ...free }, ['forbidden', 'region_codex'], ['result', 'stdout'])
})

test('AUTH-08: limits keep their time, and a caller is told when', async t => {
  await refusals(t, { code: 'rate_limited', ...free }, ['limit_5h', 'limit_session', 'limit_weekly', 'limit_epoch'])
  await withBus(async bus => {
    const worker = await serveFake(bus, 'worker', { fake: 'AUTH-00', knobs: { FAKE_CASE: 'limit_codex' } })
    for (let n = 0; n < 20; n++) {
      const answer = await ask(worker)
      t.like(answer.json, { errorCode: 'rate_limited', retryable: true, ext: { retryAfterMs: 7_980_000 } })
      t.is(answer.headers['retry-after'], '7980')
      t.regex(answer.text, /try again in 2 hours 13 minutes/)
    }
    t.is(await spentMicroUsd(bus, 'worker'), 0)
  })
})

test('AUTH-09: an overload is a limit; what fits nothing is engine_cli, and the bus lives on', async t => {
  await refusals(t, { code: 'rate_limited', ...free }, ['overloaded'])
  await refusals(t, { code: 'engine_cli', ...free }, ['api_500', 'conn', 'login_ok_but_401_digits'])
})

test('AUTH-11: a 429 is no missing login', async t => {
  await refusals(t, { code: 'rate_limited', ...free }, ['rate_429'], ['result', 'stdout', 'stderr'])
})

test('RES-19: where nothing was to be written, a refused write is told beside the answer', async t => {
  await withBus(async bus => {
    const worker = await serveFake(bus, 'worker', { fake: 'RES-19', wish: { settings: { access: 'read' } } })
    const { json } = await ask(worker)
    t.like(json, { success: true, text: "I wasn't able to create probe.txt: the Write tool is blocked in this mode." })
    t.deepEqual(Reflect.get(Object(Reflect.get(Object(json), 'ext')), 'denied'), [`Write ${bus.folder}/probe.txt`])
  })
})

test('ENV-01: a bus inside a session of the CLI does not hand that on', async t => {
  const inside = { ...process.env, CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_CODE_SSE_PORT: '1' }
  await withBus(async bus => {
    t.like((await ask(await serveFake(bus, 'worker', { fake: 'ENV-01' }))).json, { success: true, text: 'not nested' })
    t.is(await spentMicroUsd(bus, 'worker'), 12_300)
  }, inside)
})

test('ENV-03: of all secrets a turn sees its token alone', async t => {
  const needle = 'needle-in-the-environment-of-the-bus'
  const secrets = { MY_SECRET: needle, ERRAND_SECRET: needle, GITHUB_TOKEN: needle, DB_PASSWORD: needle, BUS_X: 'y' }
  await withBus(
    async bus => {
      const worker = await serveFake(bus, 'worker', { fake: 'ENV-03', knobs: { FAKE_NEEDLE: needle } })
      t.like((await ask(worker)).json, { success: true, text: '["ERRAND_TOKEN"]' })
      const wish = { settings: { env: ['DB_PASSWORD'] } }
      const passes = await serveFake(bus, 'passes', { fake: 'ENV-03', wish })
      t.deepEqual(JSON.parse(String(Reflect.get(Object((await ask(passes)).json), 'text'))).sort(), [
        'DB_PASSWORD',
        'ERRAND_TOKEN',
      ])
    },
    { ...process.env, ...secrets },
  )
})

test('LOOP-03: ten at once are not ten deep', async t => {
  await withBus(async bus => {
    const wish = { maxDepth: 2, concurrency: 3 }
    const worker = await serveFake(bus, 'worker', { fake: 'PROC-06', knobs: { FAKE_HANG_MS: '50' }, wish })
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(worker, { depth: 0 })))
    for (const { json } of answers) t.like(json, { success: true, text: 'slow ok' })
    t.is(await spentMicroUsd(bus, 'worker'), 1_000_000)
  })
})

test('LOOP-07: who is asked pays, and not who asks', async t => {
  await withBus(async bus => {
    const limits = (microUsd: number) => ({ budget: { microUsd, per: 'total' as const } })
    await bus.serve('a', { limits: limits(200_000) })
    const b = await serveFake(bus, 'b', { fake: 'BUD-01', wish: { limits: limits(1_000_000) } })
    t.like((await ask(b, { fromInstance: 'a' })).json, { success: true, text: 'spent' })
    t.is(await spentMicroUsd(bus, 'b'), 400_000)
    t.is(await spentMicroUsd(bus, 'a'), 0)
  })
})

test('BUD-03: what was spent before a timeout is never free, and the budget runs out', async t => {
  await withBus(async bus => {
    const limits = { budget: { microUsd: 3_000_000, per: 'total' as const }, maxTurnMicroUsd: 1_500_000 }
    const worker = await serveFake(bus, 'worker', { fake: 'BUD-03', wish: { limits, settings: { timeoutMs: 1500 } } })
    const codes: unknown[] = []
    for (let n = 0; n < 3; n++) codes.push(Reflect.get(Object((await ask(worker)).json), 'errorCode'))
    t.deepEqual(codes, ['timeout', 'timeout', 'budget_exhausted'])
    t.is(await spentMicroUsd(bus, 'worker'), 3_000_000)
  })
})

const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

test('HTTP-05: what is compressed is neither inflated nor run', async t => {
  const zeros = Buffer.alloc(16 * 1024 * 1024)
  const bombs = {
    gzip: gzipSync(zeros),
    deflate: deflateSync(zeros),
    br: brotliCompressSync(zeros, quick),
    zstd: zstdCompressSync(zeros),
  }
  await withBus(async bus => {
    const { port } = await bus.serve('worker', {})
    const bodies = { ...bombs, 'gzip, gzip': gzipSync(bombs.gzip), identity: zeros }
    for (const [encoding, body] of Object.entries(bodies)) {
      for (const bearer of ['k', 'wrong']) {
        const { json } = await send(port, { headers: { ...jsonHeaders(bearer), 'Content-Encoding': encoding }, body })
        const code =
          bearer === 'wrong' ? 'auth_failed' : encoding === 'identity' ? 'request_too_large' : 'invalid_request'
        t.like(json, { success: false, errorCode: code, retryable: false }, `${encoding}, ${bearer}`)
      }
    }
    t.deepEqual(await bus.calls(), [])
    t.is((await ask({ port })).status, 200)
  })
})

test('ARG-06: on Windows nothing is started, and it says so', async t => {
  const windows = 'data:text/javascript,Object.defineProperty(process, "platform", { value: "win32" })'
  const bin = fileURLToPath(new URL('../../bin/errand.js', import.meta.url))
  const ended = spawnSync(process.execPath, ['--import', windows, bin, 'talk', 'worker', 'hi'], { encoding: 'utf8' })
  t.not(ended.status, 0)
  t.is(ended.stdout, '')
  t.regex(ended.stderr, /Windows.*WSL/)
})
