import test from 'ava'
import opencode from '../../engines/opencode.ts'
import type { EngineEnd, EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => opencode.decode(viewOf(record))

const nothing = { tokens: 0, cost: [0, 'none'] } as const
const unknown = { tokens: 0, cost: [0, 'unknown'] } as const
const once = { tokens: 1234, cost: [4110, 'reported'] } as const
const twice = { tokens: 2468, cost: [8220, 'reported'] } as const

const said = (facts: string): string => `MOCK-OK model=mock-model ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const limited = failed('rate_limited', true, 'Rate limit reached for requests')
const nobody = failed('engine_cli', true, 'Cannot connect to API: Unable to connect.')
const noModel = failed('engine_cli', true, 'The provider sent no answer of a model.')
const refusedWrite = failed('write_permission', false, 'write /home/user/project')

testTranscripts('opencode', {
  'access-read': {
    ...once,
    text: said('msgs=2 users=1 lastlen=7 chars=9561 saw1=false tools=7 lastrole=user'),
    session: 'ses_dcf43082bffeepg59Coz6UzBiM',
  },
  'access-unset': {
    ...twice,
    text: said('msgs=4 users=1 lastlen=7 chars=9587 saw1=false tools=10 lastrole=tool'),
    session: 'ses_dcf47b35dffeHVYQjqmQagv4L8',
  },
  'bad-flag': { ...failed('engine_cli', true, 'does not know one of its flags'), ...nothing },
  'bad-resume-junk': { ...failed('session_state', false, 'Session not found'), ...nothing },
  // A compaction stops as an answer does; the turn was cut after it.
  'compaction-cut': {
    ...failed('engine_cli', true, 'was ended by SIGTERM'),
    tokens: 3702,
    cost: [12_330, 'unknown'],
    session: 'ses_dcf412ea3ffeC4tc6Y2AsBloV7',
  },
  'config-mcp': {
    ...once,
    text: said('msgs=2 users=1 lastlen=7 chars=9622 saw1=false tools=11 lastrole=user'),
    session: 'ses_dcf3fe093ffe225ZuIlIDtCk7m',
  },
  'empty-stdin-no-prompt': { ...failed('engine_cli', true, 'You must provide a message or a command'), ...nothing },
  // It asks again for ever; cut by the one who recorded it, here and in the next.
  'empty-stream': { ...noModel, ...unknown, session: 'ses_dd061b0b5ffecvD5M65vmG6VOV' },
  'garbage-html': { ...noModel, ...unknown, session: 'ses_dd063317cffeeohOqFBH23r05z' },
  'http-400': { ...failed('engine_cli', true, 'bad request'), ...nothing, session: 'ses_dd06358e3ffe6mh8Mk4GLnC0bS' },
  'http-401': {
    ...failed('auth', false, 'Incorrect API key provided: sk-dummy.'),
    ...nothing,
    session: 'ses_dd0638a9effeWvqmbiGmqWcaB2',
  },
  'http-429': { ...limited, ...nothing, session: 'ses_dd05cb15fffeHv40uNpxw6mcrH' },
  'http-429-quota': {
    ...failed('quota_exhausted', false, 'You exceeded your current quota'),
    ...nothing,
    session: 'ses_dd05ca829ffegIeI3XsieCTtgz',
  },
  'http-529': {
    ...failed('rate_limited', true, 'Overloaded'),
    ...nothing,
    session: 'ses_dd05ca562ffe1XcI7qVPwVbgWy',
  },
  'logged-429': { ...limited, ...nothing, session: 'ses_dcf4ced42ffegHNzmycky1DwYS' },
  'logged-empty-stream': { ...noModel, ...unknown, session: 'ses_dcf4cf2e3ffedwFZJ76QM9fJgL' },
  'logged-no-model': {
    ...failed('engine_cli', true, 'Model not found: mock/none.'),
    ...nothing,
    session: 'ses_dcf41d68fffeQ8YTaQF5K0qrIW',
  },
  'logged-nologin': {
    ...failed('auth', false, 'opencode has no login for anthropic. Run "opencode auth login".'),
    ...nothing,
    session: 'ses_dcf4ac8f6ffeqofSnWMjkY84ZN',
  },
  'logged-refused': { ...nobody, ...nothing, session: 'ses_dcf4ad6ecffeqWEnUNHM7MdsUR' },
  'mcp-server': {
    ...once,
    text: said('msgs=2 users=1 lastlen=8 chars=9579 saw1=false tools=11 lastrole=user'),
    session: 'ses_dd0414663ffehmHaPsCljyEN2W',
  },
  // Recorded without its log, so that it does not say what is wrong.
  'nologin-fresh': {
    ...failed('auth', false, 'no login for the provider of this model, or does not know it'),
    ...nothing,
    session: 'ses_dd0615114ffeynk2V6ZBWoBJxH',
  },
  refused: { ...nobody, ...nothing, session: 'ses_dd05ca0ceffetRi3gXXmsXVBzJ' },
  'resume-ok': {
    ...once,
    text: said('msgs=4 users=2 lastlen=22 chars=9707 saw1=true tools=10 lastrole=user'),
    session: 'ses_dd06712faffevYg1GEfKXm2l7S',
  },
  sigint: { ...failed('engine_cli', true, 'was ended by SIGINT'), ...unknown },
  'stdin-200k': {
    ...once,
    text: said('msgs=2 users=1 lastlen=205830 chars=215401 saw1=true tools=10 lastrole=user'),
    session: 'ses_dd066bca6ffe6eVQq043E43gvc',
  },
  'stdin-left-open': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  'stdin-short-plus-argv': {
    ...once,
    text: said('msgs=2 users=1 lastlen=38 chars=9609 saw1=true tools=10 lastrole=user'),
    session: 'ses_dd06681e5ffe69buD0pEbDdAOW',
  },
  success: {
    ...once,
    text: said('msgs=2 users=1 lastlen=18 chars=9589 saw1=true tools=10 lastrole=user'),
    session: 'ses_dd06712faffevYg1GEfKXm2l7S',
  },
  'tool-write-bypass-rofs': { ...refusedWrite, ...twice, session: 'ses_dd0583ef7ffeMGxGrV349EWoGV' },
  // It asked, nobody answered, and it stopped without a word.
  'tool-write-default-perms': { ...refusedWrite, ...once, session: 'ses_dd0588ca1ffemS64kPrMeDGPT3' },
  'tool-write-default-perms, by an instance that may only read': {
    ...failed('engine_cli', true, 'ended without an answer'),
    ...once,
    session: 'ses_dd0588ca1ffemS64kPrMeDGPT3',
    settings: { access: 'read' },
  },
})

const task: EngineTask = {
  prompt: '--help /init',
  cli: ['/opt/opencode', '--x'],
  args: ['--agent', 'plan'],
  cwd: '/srv',
  folder: '/turn',
}
const fixed = ['--x', 'run', '--format', 'json', '--title=', '--print-logs', '--log-level', 'ERROR']

const permissionOf = (more: Partial<EngineTask>): string | undefined =>
  opencode.command({ ...task, ...more }).env?.['OPENCODE_PERMISSION']

test('what it starts: the prompt on stdin, the flags of the instance last, and nothing that asks the network', t => {
  const { file, args, stdin, env = {}, files } = opencode.command(task)
  t.is(file, '/opt/opencode')
  t.deepEqual(args, [...fixed, '--agent', 'plan'])
  t.is(stdin, '--help /init')
  t.deepEqual(files, {})
  t.is(env['OPENCODE_CONFIG'], undefined)
  t.is(env['OPENCODE_CONFIG_CONTENT'], undefined)
  t.is(env['OPENCODE_DISABLE_AUTOUPDATE'], '1')
})

test('model, session and full access are flags; what an instance may do is a permission', t => {
  t.deepEqual(
    opencode
      .command({ ...task, model: 'anthropic/claude-opus-4-5', session: 'ses_1', access: 'full' })
      .args.slice(8, 11),
    ['--model=anthropic/claude-opus-4-5', '--session=ses_1', '--auto'],
  )
  t.is(permissionOf({}), undefined)
  t.is(permissionOf({ access: 'read' }), '{"edit":"deny","bash":"deny","external_directory":"deny"}')
  t.is(permissionOf({ access: 'write' }), '{"edit":"allow","external_directory":"deny"}')
  t.false(opencode.command({ ...task, access: 'write' }).args.includes('--auto'))
})

test('where dollars are limited there are no subagents, since nobody tells what they cost', t => {
  t.is(permissionOf({ access: 'full', capMicroUsd: 7 }), '{"task":"deny"}')
  t.is(permissionOf({ access: 'full' }), undefined)
})

test('instructions and the bus are handed over by a configuration of the turn; no token stands in it', t => {
  const mcp = { name: 'errand', command: '/opt/errand', args: ['mcp'], env: ['ERRAND_TOKEN'] }
  const { files = {}, env = {} } = opencode.command({ ...task, mcp, instructions: '-be "brief"' })
  t.is(env['OPENCODE_CONFIG'], '/turn/opencode.json')
  t.is(env['OPENCODE_PERMISSION'], undefined)
  t.is(files['instructions.md'], '-be "brief"')
  t.deepEqual(JSON.parse(files['opencode.json'] ?? ''), {
    mcp: { errand: { type: 'local', command: ['/opt/errand', 'mcp'], enabled: true } },
    permission: { 'errand_*': 'allow' },
    instructions: ['/turn/instructions.md'],
  })
  t.deepEqual(Object.keys(opencode.command({ ...task, mcp }).files ?? {}), ['opencode.json'])
})

const step = (more: { readonly [key: string]: Json }) =>
  decode({
    type: 'step_finish',
    sessionID: 's',
    part: {
      reason: 'stop',
      cost: 0.01,
      tokens: { input: 4, output: 23, reasoning: 5, cache: { read: 7, write: 9 } },
      ...more,
    },
  })

test('a step counts its cache and its reasoning apart', t => {
  t.deepEqual(step({}), [
    {
      kind: 'usage',
      scope: 'step',
      usage: {
        inputTokens: 4,
        outputTokens: 23,
        cachedInputTokens: 7,
        cacheWriteTokens: 9,
        reasoningTokens: 5,
      },
      cacheApart: true,
      reasoningApart: true,
    },
    { kind: 'cost', scope: 'step', usd: 0.01 },
    { kind: 'result', ok: true, text: '', mayGoOn: true },
  ])
})

test('a model without a price in its table has no cost of 0', t => {
  t.deepEqual(
    step({ cost: 0 }).map(({ kind }) => kind),
    ['usage', 'result'],
  )
})

test('only a stop is an answer: what broke off is a failure, or is tried again', t => {
  const last = (reason: string) => step({ reason }).at(-1)
  t.like(last('unknown'), { kind: 'retry' })
  t.is(last('tool-calls')?.kind, 'cost')
  t.like(last('length'), { kind: 'result', ok: false, error: 'The model ended its answer early: length.' })
})

test('its own words after a compaction are nobody’s answer, and the summary before them is none either', t => {
  t.deepEqual(decode({ type: 'text', part: { text: 'Continue', synthetic: true } }), [
    { kind: 'tool', name: 'compaction' },
  ])
})

const tool = (name: string, state: Json) => decode({ type: 'tool_use', part: { tool: name, state } })

test('a write that a rule, a question or the file system refused is denied; a refused reading is not', t => {
  const kinds = (name: string, error: string) =>
    tool(name, { status: 'error', error, input: { filePath: 'a' } }).map(({ kind }) => kind)
  const rule = 'The user has specified a rule which prevents you from using this specific tool call.'
  t.deepEqual(kinds('edit', rule), ['tool', 'denied'])
  t.deepEqual(kinds('read', rule), ['tool'])
  t.deepEqual(kinds('read', 'The user rejected permission to use this specific tool call.'), [
    'tool',
    'denied',
    'result',
  ])
  t.deepEqual(kinds('write', 'Unknown: FileSystem.writeFile (/srv/a)'), ['tool', 'denied'])
  t.deepEqual(kinds('edit', 'oldString not found in content'), ['tool'])
  const output = 'sh: 1: cannot create a: Read-only file system'
  t.deepEqual(tool('bash', { status: 'completed', input: { command: 'echo > a' }, metadata: { output } }), [
    { kind: 'tool', name: 'bash' },
    { kind: 'denied', what: 'bash echo > a' },
  ])
})

test('a turn with a subagent has a cost that nobody knows', t => {
  t.deepEqual(
    tool('task', { status: 'completed' }).map(({ kind }) => kind),
    ['tool', 'usage', 'cost'],
  )
})

test('a line of its log tells a retry', t => {
  const line = (error: string): string =>
    `timestamp=2026-12-01T08:23:28.685Z level=ERROR run=1a message="stream error" providerID=p agent=build error.error="${error}"`
  t.deepEqual(opencode.decodeError?.(line('AI_APICallError: Please say \\"please\\"')), [
    { kind: 'retry', reason: 'Please say "please"' },
  ])
  t.deepEqual(opencode.decodeError?.('level=ERROR message=process error="Rate limit" stack="x"'), [])
})

test('an error says its status, its type and when to come back', t => {
  const data = {
    message: 'Slow down',
    statusCode: 429,
    responseHeaders: { 'retry-after': '21' },
    responseBody: '{"type":"error","error":{"type":"rate_limit_error"}}',
  }
  t.deepEqual(decode({ type: 'error', sessionID: 's', error: { name: 'APIError', data } }), [
    { kind: 'session', id: 's' },
    { kind: 'retry', status: 429, reason: 'Slow down', retryAfterMs: 21_000 },
    { kind: 'result', ok: false, error: 'Slow down', status: 429, type: 'rate_limit_error', mayGoOn: false },
  ])
  t.like(decode({ type: 'error', error: { name: 'ContextOverflowError' } }).at(-1), {
    error: 'ContextOverflowError',
    mayGoOn: true,
  })
})

const end: EngineEnd = { exitCode: 1, noise: '', stderr: '' }

test('a provider without a login, a model that nobody knows, and a key that its login refuses', t => {
  const result = { kind: 'result', ok: false, error: 'Unexpected server error.', type: 'UnknownError' } as const
  const stderr = (words: string): string => `level=ERROR message=failed error="ProviderModelNotFoundError: ${words}"`
  const known = stderr('Model not found: google/gemini-2.5-pro. Did you mean: gemini-2.5-pro, gemini-2.5-flash?')
  t.like(opencode.classify({ ...end, result, stderr: known }), { code: 'auth' })
  const misspelt = stderr('Model not found: google/gemini-9. Did you mean: gemini-2.5-pro?')
  t.deepEqual(opencode.classify({ ...end, result, stderr: misspelt }), {
    code: 'engine_cli',
    sentence: 'Model not found: google/gemini-9. Did you mean: gemini-2.5-pro?',
  })
  const refused = { ...result, error: 'The key of x is missing', type: 'ProviderAuthError' }
  t.is(opencode.classify({ ...end, result: refused }).code, 'auth')
})

test('records of other shapes say nothing, or nothing that counts', t => {
  for (const record of [null, 1, 'text', [], {}, { type: 'text_' }, { type: ['error'] }, { type: 'reasoning' }])
    t.deepEqual(decode(record), [], JSON.stringify(record))
  for (const type of ['step_start', 'step_finish', 'text', 'tool_use', 'error'])
    for (const part of [null, 1, 'x', [], { tokens: 'many', state: [], cost: {} }])
      t.notThrows(() => decode({ type, part, error: part }))
})
