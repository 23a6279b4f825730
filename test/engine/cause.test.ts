import test from 'ava'
import { causeOf } from '../../src/engine/cause.ts'
import type { EngineEnd, Failure } from '../../src/engine/engine.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'

const nowMs = Date.UTC(2026, 5, 8, 12, 0, 0)
const minuteMs = 60_000
const hourMs = 60 * minuteMs

const engine = {
  name: 'any',
  classify: ({ result }: EngineEnd): Failure => ({ code: 'engine_cli', sentence: result?.error ?? '' }),
}

type Row = readonly [words: string, code: ErrorCode, retryAfterMs?: number]

/** What real CLIs said, each in whichever place they said it. */
const said: readonly Row[] = [
  [
    'Failed to authenticate. API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired."}}',
    'auth',
  ],
  ['API Error: 401 {"type":"error","error":{"message":"OAuth token has expired."}} · Please run /login', 'auth'],
  ['Invalid API key · Please run /login', 'auth'],
  ['Invalid API key · Fix external API key', 'auth'],
  ['Not logged in · Please run /login', 'auth'],
  ['API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"Invalid bearer token"}}', 'auth'],
  ['API Error: 403 {"error":{"type":"forbidden","message":"Request not allowed"}}', 'auth'],
  [
    '{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}',
    'auth',
  ],
  [
    'Your access token could not be refreshed because your refresh token was already used. Please sign in again.',
    'auth',
  ],
  ['unexpected status 401 Unauthorized: Missing bearer or basic authentication in header', 'auth'],
  ['Missing environment variable: `MOCK_KEY`.', 'auth'],
  ['Error: AI_APICallError: No auth credentials found', 'auth'],
  ['Credit balance is too low', 'quota_exhausted'],
  [
    'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
    'quota_exhausted',
  ],
  ["You've hit your monthly spend limit · raise it at claude.ai/settings/usage", 'quota_exhausted'],
  ['Quota exceeded. Check your plan and billing details.', 'quota_exhausted'],
  ['429 You exceeded your current quota, please check your plan and billing details.', 'quota_exhausted'],
  ["You've hit your limit · resets 2:30am (UTC)", 'rate_limited', 14.5 * hourMs],
  ["You've hit your session limit · resets 8pm (Europe/Berlin)", 'rate_limited', 6 * hourMs],
  ["You've hit your weekly limit · resets Jun 9 at 1am (America/Sao_Paulo)", 'rate_limited', 16 * hourMs],
  ["You've hit your weekly limit · resets Jan 2 at 1am (UTC)", 'rate_limited', Date.UTC(2027, 0, 2, 1) - nowMs],
  ["You've hit your limit · resets 1pm (Nowhere/Atlantis)", 'rate_limited'],
  [`Claude AI usage limit reached|${nowMs / 1000 + 90}`, 'rate_limited', 90_000],
  [`Claude AI usage limit reached|${nowMs / 1000 - 90}`, 'rate_limited', 0],
  ["You've hit your usage limit. Upgrade to Pro or try again in 2 hours 13 minutes.", 'rate_limited', 133 * minuteMs],
  ['Rate limit reached for gpt-5. Please try again in 1.5s.', 'rate_limited', 1500],
  ['Too many requests, retry after 3 days and 2 hours', 'rate_limited', 74 * hourMs],
  ['Too many requests, try again in 2 fortnights', 'rate_limited'],
  ['exceeded retry limit, last status: 429 Too Many Requests', 'rate_limited'],
  [
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"Please try again later."}}',
    'rate_limited',
  ],
  ['API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'rate_limited'],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'rate_limited'],
  ['No conversation found with session ID: 9a000000-0000-4000-8000-000000000000', 'session_state'],
  ['Error: Session ID 9a000000-0000-4000-8000-000000000000 is already in use.', 'session_state'],
  ['thread/resume failed: no rollout found for thread id 9a000000', 'session_state'],
  ['API Error: 500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}', 'engine_cli'],
  ['API Error: Connection error.', 'engine_cli'],
  [
    'unexpected status 403 Forbidden: <!DOCTYPE html><html lang="en-US"><title>Just a moment...</title></html>',
    'engine_cli',
  ],
  ['ECONNREFUSED 127.0.0.1:40150 request_id=req_4401X took 24012ms', 'engine_cli'],
  ['cannot open /tmp/job-401/log', 'engine_cli'],
  ['cannot open /srv/unauthorized/429/status 401/log', 'engine_cli'],
  ['GET http://127.0.0.1:4010/error/401/unauthorized was reset', 'engine_cli'],
  ['TypeError: Cannot read properties of undefined', 'engine_cli'],
  ['API key not valid. Please pass a valid API key.', 'auth'],
  ['No API key found for anthropic.', 'auth'],
  ['Error: No authentication information found.', 'auth'],
  ['No auth type is selected. Please configure an auth type before running in non-interactive mode.', 'auth'],
  ['No auth provided. Please log in with `auggie login` or set the AUGMENT_SESSION_AUTH', 'auth'],
  ['[API Error: 401 Incorrect API key provided]', 'auth'],
  ['401 {"error":{"message":"nope"}}', 'auth'],
  ['User location is not supported for the API use.', 'auth'],
  ['This model is not available in your country.', 'auth'],
  ['This organization has been disabled.', 'auth'],
  ['Your account was temporarily suspended.', 'auth'],
  ['User settings: telemetry disabled', 'engine_cli'],
  ['EACCES: permission denied, open /srv/a', 'engine_cli'],
  ['402 Payment Required', 'quota_exhausted'],
  ['You have exceeded your premium request allowance.', 'quota_exhausted'],
  ['Free allocated quota exceeded.', 'quota_exhausted'],
  ['You exceeded your current quota. Please retry in 37.5s.', 'rate_limited', 37_500],
  ['You have exhausted your capacity on this model. Your quota will reset after 2h10m3s.', 'rate_limited', 7_803_000],
  ['[API Error: 429 slow down]', 'rate_limited'],
  ['429 slow down', 'rate_limited'],
  ['503 Service Unavailable', 'rate_limited'],
  ['No session, task, or name matched "nope"', 'session_state'],
  ['Error resuming session: Invalid session identifier "nope".', 'session_state'],
  ['No saved session found with ID nope', 'session_state'],
  ['Session not found', 'session_state'],
  ['Please run /login', 'auth'],
  ['Not logged in, try again in 5 seconds', 'auth'],
  ['cannot reach https://x.unauthorized.example', 'engine_cli'],
  ['cannot open /unauthorized/log', 'engine_cli'],
  ['cannot open unauthorized/a/b', 'engine_cli'],
  ['error: /srv/a 401 lines', 'engine_cli'],
]

const places: Readonly<Record<string, (words: string) => EngineEnd>> = {
  'the result': error => ({ result: { kind: 'result', ok: false, error }, exitCode: 1, noise: '', stderr: '' }),
  stdout: words => ({ exitCode: 1, noise: `starting\n${words}\n`, stderr: '' }),
  stderr: words => ({ exitCode: 1, noise: '', stderr: `Reading additional input from stdin...\n${words}\n` }),
}

for (const [words, code, retryAfterMs] of said) {
  for (const [place, end] of Object.entries(places)) {
    test(`${code}, told in ${place}: ${words}`, t => {
      const cause = causeOf(engine, end(words), nowMs)
      t.is(cause.code, code)
      t.is(cause.retryAfterMs, retryAfterMs)
      t.false(/[\n<]/.test(cause.sentence), 'one line without markup')
      if (!/</.test(words)) t.is(cause.sentence, words)
    })
  }
}

test('a status in the result tells what its words do not', t => {
  const rows: readonly (readonly [status: number, error: string, code: ErrorCode])[] = [
    [401, 'nope', 'auth'],
    [402, 'nope', 'quota_exhausted'],
    [403, 'nope', 'auth'],
    [403, '<html>Just a moment</html>', 'engine_cli'],
    [404, 'no such model', 'engine_cli'],
    [429, 'nope', 'rate_limited'],
    [429, 'insufficient_quota', 'quota_exhausted'],
    [500, 'nope', 'engine_cli'],
    [503, 'nope', 'rate_limited'],
    [529, 'nope', 'rate_limited'],
    [500, 'Invalid API key', 'auth'],
    [404, 'Session not found', 'session_state'],
  ]
  for (const [status, error, code] of rows) {
    const end: EngineEnd = { result: { kind: 'result', ok: false, error, status }, noise: '', stderr: '' }
    t.is(causeOf(engine, end, nowMs).code, code, `${status} ${error}`)
  }
})

test('a type in the result tells what its words do not', t => {
  const caused = (type: string, error: string) =>
    causeOf(engine, { result: { kind: 'result', ok: false, error, type }, noise: '', stderr: '' }, nowMs)
  t.deepEqual(caused('authentication_error', 'nope'), { code: 'auth', sentence: 'nope' })
  t.is(caused('api_error', 'Unauthorized').code, 'auth', 'the words are words still')
  t.is(caused('api_error', 'nope').code, 'engine_cli')
})

test('the result outweighs stderr, stdout outweighs stderr, a retry comes last', t => {
  const retry = { kind: 'retry', status: 429, reason: 'Too many requests' } as const
  const limit = 'Rate limit reached'
  const login = 'Not logged in'
  const result = { kind: 'result', ok: false, error: 'API Error: Connection error.' } as const
  t.is(causeOf(engine, { result, noise: login, stderr: login, retry }, nowMs).code, 'engine_cli')
  t.is(causeOf(engine, { noise: limit, stderr: login, retry }, nowMs).code, 'rate_limited')
  t.is(causeOf(engine, { noise: '', stderr: login, retry }, nowMs).code, 'auth')
  t.is(causeOf(engine, { noise: '', stderr: 'gone', retry }, nowMs).code, 'rate_limited')
  const wordless = causeOf(engine, { noise: '', stderr: '', exitCode: 1, retry: { kind: 'retry', status: 429 } }, nowMs)
  t.deepEqual(wordless, { code: 'rate_limited', sentence: 'The CLI of any ended with exit status 1.' })
})

test('what an engine knows is not known better, but its time to wait may be', t => {
  const knows = (failure: Failure) => ({ name: 'any', classify: () => failure })
  const end: EngineEnd = { noise: '', stderr: 'Not logged in' }
  const budget = causeOf(knows({ code: 'budget_exhausted', sentence: 'at its cap' }), end, nowMs)
  t.deepEqual(budget, { code: 'budget_exhausted', sentence: 'at its cap' })
  const told = causeOf(knows({ code: 'rate_limited', sentence: 'resets 1pm (UTC)', retryAfterMs: 5 }), end, nowMs)
  t.is(told.retryAfterMs, 5)
  const retry = { kind: 'retry', status: 429, reason: `usage limit reached|${nowMs / 1000 + 60}` } as const
  t.is(causeOf(knows({ code: 'rate_limited', sentence: 'limit' }), { ...end, retry }, nowMs).retryAfterMs, minuteMs)
})

test('without a known phrase, the sentence is the line that names the cause', t => {
  const rows: readonly (readonly [stderr: string, sentence: string])[] = [
    ["error: unknown option '--no-such-flag-xyz'\n", "error: unknown option '--no-such-flag-xyz'"],
    [
      'WARNING: proceeding, even though\nReading additional input from stdin...\nNot inside a trusted directory.\n',
      'Not inside a trusted directory.',
    ],
    [
      "error: unexpected argument '--x' found\n\nUsage: codex exec\n\nFor more information, try '--help'.\n",
      "error: unexpected argument '--x' found",
    ],
    [
      "/srv/a.js:3\n  throw new RangeError('boom')\n  ^\n\nRangeError: boom\n    at main (/srv/a.js:3:9)\n\nNode.js v24.21.0\n",
      'RangeError: boom',
    ],
    ['Traceback (most recent call last):\n  File "a.py", line 1\nValueError: boom\n', 'ValueError: boom'],
    ['warning: all is lost\n', 'The CLI of any ended with exit status 1.'],
    ['plain words\r\n    at main (a.js:3:9)\r\n\r\n---\r\n42 %\r\n', 'plain words'],
    ['It stood at home\n', 'It stood at home'],
    ['it told an error: none\nlast words\n', 'last words'],
    ...['Error: x', 'TypeError: x', 'fatal: x', 'fatal (code 7): x', 'panic: x', 'panicked at a.rs: x'].map(
      alarm => [`first words\n${alarm}\nlast words\n`, alarm] as const,
    ),
    ...['unknown option: x', 'unknown options: x', 'Unknown argument: x'].map(
      alarm => [`first words\n${alarm}\nlast words\n`, alarm] as const,
    ),
    ...['ripgrep not available', 'ripgrep is not available', 'note: x', 'Tip: x', 'info x', 'debug x', 'Usage: x'].map(
      chatter => [`first words\n${chatter}\n`, 'first words'] as const,
    ),
  ]
  for (const [stderr, sentence] of rows)
    t.is(causeOf(engine, { exitCode: 1, noise: '', stderr }, nowMs).sentence, sentence)
})

test('without a telling line, the sentence is how it ended', t => {
  const silent = { noise: '', stderr: '' }
  const retry = { kind: 'retry', reason: 'Reconnecting... waiting for network' } as const
  const rows: readonly (readonly [end: EngineEnd, sentence: string])[] = [
    [{ ...silent, exitCode: 3 }, 'The CLI of any ended with exit status 3.'],
    [{ ...silent, signal: 'SIGKILL' }, 'The CLI of any was ended by SIGKILL.'],
    [{ ...silent, exitCode: 0 }, 'The CLI of any ended without an answer.'],
    [silent, 'The CLI of any ended without an answer.'],
    [{ noise: 'plain words', stderr: '', exitCode: 0 }, 'The CLI of any ended without an answer. It said: plain words'],
    [{ ...silent, retry, signal: 'SIGKILL' }, 'Reconnecting... waiting for network'],
  ]
  for (const [end, sentence] of rows) t.is(causeOf(engine, end, nowMs).sentence, sentence)
})

const limits: readonly (readonly [told: string, inMs: number | undefined])[] = [
  ['try again in 1m30s', 90_000],
  ['try again in 20 seconds', 20_000],
  ['Please try again in 20ms.', 20],
  ['Please try again in 6m0s.', 360_000],
  ['resets in 2 hours 5 minutes', 125 * minuteMs],
  ['retry after 30', 30_000],
  ['retry after 30.', 30_000],
  ['retry after 30 minutes', 30 * minuteMs],
  ['"retryDelay": "37s"', 37_000],
  ['retryDelay: 1.5s', 1500],
  ["headers: { 'retry-after': '12', 'x-request-id': 'a1' }", 12_000],
  ['retry-after-ms: 1500', 1500],
  ['{"type":"usage_limit_reached","resets_in_seconds":90}', 90_000],
  [`"resets_at":${nowMs / 1000 + 60}`, minuteMs],
  [`"resetsAt": ${nowMs + 60_000}`, minuteMs],
  [`anthropic-ratelimit-unified-reset: ${nowMs / 1000 + 60}`, minuteMs],
  ['resets at 2026-06-08T13:00:00Z', hourMs],
  ['resets at 2026-06-08T13:00:00.000+00:00', hourMs],
  ['resets 2026-06-08 13:00 UTC', hourMs],
  ['retry-after: Mon, 08 Jun 2026 12:00:30 GMT', 30_000],
  ['resets 3pm (Europe/Berlin)', hourMs],
  ['resets at 15:00 (Europe/Berlin)', hourMs],
  ['resets 1:30 p.m. UTC', 1.5 * hourMs],
  ['resets Jun 9 at 9:00am (UTC)', 21 * hourMs],
  ['try again at Jun 9th, 2026 9:00 AM UTC', 21 * hourMs],
  ['resets tomorrow at 9am (UTC)', 21 * hourMs],
  ['resets Tuesday at 9am (UTC)', 21 * hourMs],
  ['resets Mon 11am (UTC)', (7 * 24 - 1) * hourMs],
  ['again 5 of them', undefined],
  ['reset 12 counters', undefined],
  ['retry after some time', undefined],
]

for (const [told, inMs] of limits) {
  test(`a limit is over: ${told}`, t => {
    const status = { kind: 'result', ok: false, error: told, status: 429 } as const
    t.is(causeOf(engine, { result: status, noise: '', stderr: '' }, nowMs).retryAfterMs, inMs)
  })
}

test('how long a CLI means to wait is a hint only where it is long', t => {
  const waits = (retryAfterMs: number) =>
    causeOf(
      engine,
      { retry: { kind: 'retry', status: 429, retryAfterMs, reason: 'rate_limit' }, noise: '', stderr: '' },
      nowMs,
    )
  t.is(waits(512).retryAfterMs, undefined)
  t.is(waits(5000).retryAfterMs, 5000)
  t.is(waits(7840).retryAfterMs, 7840)
})

test('a cause is told early: what comes after 16 KiB of a text is not looked at', t => {
  const caused = (error: string) =>
    causeOf(engine, { result: { kind: 'result', ok: false, error }, noise: '', stderr: '' }, nowMs)
  const much = ' x'.repeat(8 * 1024)
  t.is(caused(`${much} Not logged in`).code, 'engine_cli')
  t.is(caused(`Not logged in ${much}`).code, 'auth')
  t.is(caused(`Rate limit reached ${much} try again in 5 seconds`).retryAfterMs, undefined)
})

test('a cause is looked for in a time that does not run away, however long the text', t => {
  const texts = [
    'a',
    '/a',
    '-',
    'hit your ',
    'again in 1s ',
    '/a ',
    'session ',
    'account ',
    'resets 1',
    'retry-after: ',
    '1a',
  ].map(text => text.repeat(4_000_000 / text.length))
  const startedAtMs = performance.now()
  for (const error of texts)
    causeOf(engine, { result: { kind: 'result', ok: false, error }, noise: '', stderr: '' }, nowMs)
  t.true(performance.now() - startedAtMs < 5000)
})
