import test from 'ava'
import claude from '../../engines/claude.ts'
import type { EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => claude.decode(viewOf(record))

const model = 'claude-sonnet-4-5'
const nothing = { tokens: 0, cost: [0, 'none'] } as const
const unknown = { tokens: 0, cost: [0, 'unknown'] } as const
const once = { model, tokens: 1234, cost: [4110, 'reported'] } as const
const twice = { model, tokens: 2468, cost: [8220, 'reported'] } as const

const said = (facts: string): string => `MOCK-OK model=${model} ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const badKey = failed('auth', false, 'Invalid API key · Fix external API key')
const noLogin = failed('auth', false, 'Not logged in · Please run /login')
const limited = failed('rate_limited', true, 'This request would exceed your rate limit.')
const malformed = failed('engine_cli', true, 'API returned an empty or malformed response (HTTP 200)')
const capped = {
  ...failed('budget_exhausted', false, 'Reached maximum budget ($0.5)'),
  model,
  tokens: 2_100_000,
  cost: [7_500_000, 'reported'],
} as const

testTranscripts('claude', {
  'bad-flag': { ...failed('engine_cli', true, "unknown option '--no-such-flag-xyz'"), ...nothing },
  'bad-resume-junk': { ...failed('session_state', false, '--resume requires a valid session ID'), ...nothing },
  'bad-resume-uuid': { ...failed('session_state', false, 'No conversation found with session ID'), ...nothing },
  'budget-exceeded': { ...capped, session: '2aa8fc3f-5e3c-494a-a36c-bd4c9370662b' },
  'budget-exceeded-stream-json': { ...capped, session: '3b39a16c-93af-4f83-9d3d-a01295720d8b' },
  // Dollars and `modelUsage` are totals of the resumed session; nothing was seen of it before.
  'budget-resume-cumulative': {
    ...twice,
    text: said('msgs=4 users=2 lastlen=168 chars=39053 saw1=false tools=12 lastrole=user'),
    session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc',
  },
  'budget-resume-third': {
    text: said('msgs=6 users=3 lastlen=92 chars=39251 saw1=false tools=12 lastrole=user'),
    session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc',
    model,
    tokens: 3702,
    cost: [12_330, 'reported'],
  },
  'budget-resume-third, by one who knows what the session had come to': {
    ...once,
    text: said('msgs=6 users=3 lastlen=92 chars=39251 saw1=false tools=12 lastrole=user'),
    session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc',
    resume: { session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc', totalMicroUsd: 8220, totalTokens: 2468 },
    total: { microUsd: 12_330, tokens: 3702 },
  },
  // Then what the run tells of itself is taken: tokens, at the price of the list.
  'budget-resume-third, by one who does not know': {
    model,
    tokens: 1234,
    cost: [4110, 'priced'],
    text: said('msgs=6 users=3 lastlen=92 chars=39251 saw1=false tools=12 lastrole=user'),
    session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc',
    resume: { session: 'b94d34b6-61d6-4f24-b029-6fc4d2c8f6dc' },
    total: { microUsd: 12_330, tokens: 3702 },
  },
  'empty-stdin-no-prompt': { ...failed('engine_cli', true, 'Input must be provided either through stdin'), ...nothing },
  'empty-stream': { ...malformed, ...nothing, session: '33d21b3c-94d6-49d1-880f-f2a878078776' },
  'garbage-html': { ...malformed, ...nothing, session: '8a802a69-9aa9-46b8-a28a-fc8bd442cf36' },
  'http-400': {
    ...failed('quota_exhausted', false, 'Credit balance is too low'),
    ...nothing,
    session: 'b33bcea3-dbf8-4839-aea3-2e335c2de3ac',
  },
  // Cut by the one who recorded it, after 120 silent seconds.
  'http-401': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  'http-401-long': { ...badKey, ...nothing, session: 'cffdbff0-9e4b-4b9b-a169-7070372dcefd' },
  'http-401-maxretries0': { ...badKey, ...nothing, session: 'b8d35327-4a81-4615-a83a-a87250397dd6' },
  'http-401-stream-json': { ...badKey, ...nothing, model, session: '9a7fbb3a-c4f4-4cda-a970-8d16171fb948' },
  'http-404-model': {
    ...failed('engine_cli', true, "There's an issue with the selected model (no-such-model)."),
    ...nothing,
    session: '2755f682-fb6b-43c5-96ca-dfee48f4cdfc',
  },
  'http-429': { ...limited, ...nothing, session: 'ea358e8a-ac84-4781-97a7-e71153b3b515' },
  'http-429-maxretries1': { ...limited, ...nothing, session: 'eabcb88a-99ac-4147-9fef-a3b998e42a4e' },
  'http-429-quota': { ...limited, ...nothing, session: '90deffa8-7ca2-49de-b309-ab4e9af84233' },
  'http-529': {
    ...failed('rate_limited', true, 'API Error: 529 Overloaded.'),
    ...nothing,
    session: '3e3e4c25-61ce-4ce9-99de-48d6e730c567',
  },
  nokey: { ...noLogin, ...nothing, session: 'c70f49f0-9f79-4042-b5db-3fe2385648d3' },
  'nologin-fresh': { ...noLogin, ...nothing, session: 'f1b25bfc-31b1-4c68-8303-d13070816d53' },
  'nologin-fresh-stream-json': {
    ...noLogin,
    ...nothing,
    model: 'claude-opus-5-5',
    session: 'f600abd7-b26a-40df-b1e5-966eaf3308b1',
  },
  'resume-ok': {
    ...twice,
    text: said('msgs=4 users=2 lastlen=107 chars=39005 saw1=true tools=12 lastrole=user'),
    session: 'c1f2fb7a-ebc1-44f9-bfac-2ee69fdb2e26',
  },
  'resume-ok, by one who knows what the session had come to': {
    ...once,
    text: said('msgs=4 users=2 lastlen=107 chars=39005 saw1=true tools=12 lastrole=user'),
    session: 'c1f2fb7a-ebc1-44f9-bfac-2ee69fdb2e26',
    resume: { session: 'c1f2fb7a-ebc1-44f9-bfac-2ee69fdb2e26', totalMicroUsd: 4110, totalTokens: 1234 },
    total: { microUsd: 8220, tokens: 2468 },
  },
  'resume-ok, of another session': {
    ...twice,
    text: said('msgs=4 users=2 lastlen=107 chars=39005 saw1=true tools=12 lastrole=user'),
    session: 'c1f2fb7a-ebc1-44f9-bfac-2ee69fdb2e26',
    resume: { session: '9a0' },
    strayed: true,
  },
  sigint: { ...failed('engine_cli', true, 'ended without an answer'), ...nothing },
  'sigterm-process-group': { ...failed('engine_cli', true, 'exit status 143'), ...nothing },
  'stdin-200k': {
    ...once,
    text: said('msgs=2 users=1 lastlen=216182 chars=244605 saw1=true tools=12 lastrole=user'),
    session: '80d2f220-5908-4970-a791-2e6177b54e37',
  },
  'stdin-200k-file-redirect': {
    ...once,
    text: said('msgs=2 users=1 lastlen=216182 chars=244605 saw1=true tools=12 lastrole=user'),
    session: '0e3fb5f8-1b1f-4f5d-846a-9da2de92f01c',
  },
  'stdin-short-plus-argv': {
    ...once,
    text: said('msgs=2 users=1 lastlen=10388 chars=38811 saw1=true tools=12 lastrole=user'),
    session: '2361a091-4719-4cfe-bba3-68778869f046',
  },
  success: {
    ...once,
    text: said('msgs=2 users=1 lastlen=10368 chars=38791 saw1=true tools=12 lastrole=user'),
    session: 'c1f2fb7a-ebc1-44f9-bfac-2ee69fdb2e26',
  },
  'success-stream-json': {
    ...once,
    text: said('msgs=2 users=1 lastlen=10368 chars=38791 saw1=true tools=12 lastrole=user'),
    session: 'b97bc5f4-4f60-48ee-88d4-a90854f3dcb3',
  },
  // Plain text is no record: we never ask for it.
  'success-text': { ...failed('engine_cli', true, 'ended without an answer. It said: '), ...nothing },
  'tool-write-default-perms': {
    ...twice,
    ...failed('write_permission', false, 'Write /home/user/project'),
    session: '62490ee1-544a-4fcf-9177-daa40df90b0d',
  },
  'tool-write-default-perms, by an instance that may only read': {
    ...twice,
    text: said('msgs=4 users=1 lastlen=10366 chars=38990 saw1=false tools=12 lastrole=tool'),
    denied: ['Write /home/user/project'],
    session: '62490ee1-544a-4fcf-9177-daa40df90b0d',
    settings: { access: 'read' },
  },
})

const task: EngineTask = {
  prompt: '-p /cost',
  cli: ['/opt/claude', '--x'],
  args: ['--effort', 'low'],
  cwd: '/srv',
  folder: '/turn',
}
const fixed = ['--x', '-p', '--output-format', 'stream-json', '--verbose']
const delegation = '--allowedTools=Bash(errand talk:*)'

test('what it starts: the prompt on stdin, the flags of the instance last', t => {
  const { file, args, stdin, env } = claude.command(task)
  t.is(file, '/opt/claude')
  t.deepEqual(args, [...fixed, delegation, '--effort', 'low'])
  t.is(stdin, '-p /cost')
  t.is(env?.['CLAUDE_CODE_MAX_RETRIES'], '2')
})

test('each setting is a flag', t => {
  const all: EngineTask = { ...task, model: 'opus', access: 'write', instructions: '-be brief', capMicroUsd: 7 }
  t.deepEqual(claude.command(all).args, [
    ...fixed,
    ...['--model', 'opus', '--permission-mode', 'acceptEdits'],
    ...['--append-system-prompt', '-be brief', '--max-budget-usd', '0.000007'],
    delegation,
    ...['--effort', 'low'],
  ])
  const modes = (['read', 'write', 'full'] as const).map(access => claude.command({ ...task, access }).args[6])
  t.deepEqual(modes, ['dontAsk', 'acceptEdits', 'bypassPermissions'])
  t.true(claude.command({ ...task, access: 'read' }).args.includes('--disallowedTools=Write,Edit,NotebookEdit'))
})

test('it goes on with a session, and hands over the server by which its agent delegates, without the value of a token', t => {
  const mcp = { name: 'errand', command: '/bin/errand', args: ['mcp'], env: ['ERRAND_TOKEN', 'ERRAND_CONFIG'] }
  const { args } = claude.command({ ...task, session: 'c1f2', mcp })
  t.deepEqual(args, [
    ...fixed,
    ...['--resume', 'c1f2', delegation],
    `--mcp-config=${JSON.stringify({
      mcpServers: {
        errand: {
          command: '/bin/errand',
          args: ['mcp'],
          env: { ERRAND_TOKEN: '$' + '{ERRAND_TOKEN}', ERRAND_CONFIG: '$' + '{ERRAND_CONFIG}' },
          alwaysLoad: true,
        },
      },
    })}`,
    '--allowedTools=mcp__errand',
    ...['--effort', 'low'],
  ])
})

const logOf = (session: string, environment: Readonly<Record<string, string>>): readonly string[] =>
  claude.log?.files({ session, environment, folder: '/turn', cwd: '/srv', startedAtMs }) ?? []

const startedAtMs = Date.UTC(2026, 11, 1)

test('its log lies below its own folder, with one of each helper beside it', t => {
  t.deepEqual(logOf('c1f2', { HOME: '/home/me' }), [
    '/home/me/.claude/projects/*/c1f2.jsonl',
    '/home/me/.claude/projects/*/c1f2/subagents/agent-*.jsonl',
  ])
  t.is(logOf('c1f2', { HOME: '/home/me', CLAUDE_CONFIG_DIR: '/etc/c' })[0], '/etc/c/projects/*/c1f2.jsonl')
  t.deepEqual(logOf('../x', { HOME: '/home/me' }), [])
})

test('its log tells of each request and of its usage, and nothing of runs before', t => {
  const logged = (record: Json) =>
    claude.log?.decode(viewOf(record), { environment: {}, folder: '/turn', cwd: '/srv', startedAtMs })
  const timestamp = '2026-12-01T00:00:00.500Z'
  const message = { id: 'm', model, content: [], usage: { input_tokens: 1200, output_tokens: 34 } }
  t.deepEqual(logged({ type: 'user', timestamp, message: { content: 'hi' } }), [{ kind: 'asked' }])
  t.deepEqual(logged({ type: 'api-request', timestamp }), [{ kind: 'asked' }])
  const ended = { type: 'tool_result', content: 'Exit code 137', is_error: true }
  t.deepEqual(logged({ type: 'user', timestamp, message: { content: [ended] } }), [])
  t.like(logged({ type: 'assistant', timestamp, message })?.[1], { kind: 'usage', scope: 'step', id: 'm' })
  t.deepEqual(logged({ type: 'assistant', timestamp: '2026-11-30T23:59:59.999Z', message }), [])
  t.deepEqual(logged({ type: 'assistant', message }), [])
  t.deepEqual(logged({ type: 'cost-state', timestamp }), [])
})

const assistant = (more: object) =>
  decode({
    type: 'assistant',
    session_id: 's',
    parent_tool_use_id: null,
    message: { id: 'm', model, content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 4, output_tokens: 23 } },
    ...more,
  })

test('a step counts its cache apart from its input, and its message once', t => {
  const usage = {
    input_tokens: 4,
    cache_creation_input_tokens: 1210,
    cache_read_input_tokens: 15_890,
    output_tokens: 23,
  }
  t.deepEqual(assistant({ message: { id: 'm', model, content: [], usage } }), [
    { kind: 'session', id: 's' },
    { kind: 'model', model },
    {
      kind: 'usage',
      scope: 'step',
      usage: { inputTokens: 4, outputTokens: 23, cachedInputTokens: 15_890, cacheWriteTokens: 1210 },
      cacheApart: true,
      id: 'm',
      model,
    },
  ])
})

test('what a subagent says is no answer, but costs', t => {
  const kinds = (more: object): readonly string[] => assistant(more).map(({ kind }) => kind)
  t.deepEqual(kinds({}), ['session', 'model', 'usage', 'text'])
  t.deepEqual(kinds({ parent_tool_use_id: 'toolu_1' }), ['session', 'model', 'usage'])
})

test('a usage limit is a retry only where it refuses', t => {
  const limit = (rate_limit_info: { status: string; resetsAt: number; overageStatus: string }) =>
    decode({ type: 'rate_limit_event', rate_limit_info })
  t.deepEqual(limit({ status: 'allowed', resetsAt: 1_762_952_400, overageStatus: 'rejected' }), [])
  t.deepEqual(limit({ status: 'rejected', resetsAt: 1_762_952_400, overageStatus: 'rejected' }), [
    { kind: 'retry', status: 429, reason: 'usage limit reached|1762952400' },
  ])
})

test('a write that the file system refused is denied, another failed tool is not', t => {
  const failedTool = (content: string) =>
    decode({ type: 'user', message: { content: [{ type: 'tool_result', is_error: true, content }] } })
  t.deepEqual(failedTool('EROFS: read-only file system, open /srv/a'), [
    { kind: 'denied', what: 'EROFS: read-only file system, open /srv/a' },
  ])
  const refused = "EACCES: permission denied, open '/srv/a.txt.tmp.1279.e1b55dd54aca'"
  t.deepEqual(failedTool(refused), [{ kind: 'denied', what: refused }])
  t.deepEqual(failedTool("EACCES: permission denied, open '/srv/secret.txt'"), [])
  t.deepEqual(failedTool('npm test failed'), [])
})

test('a refused command is no refused write', t => {
  const denials = [
    { tool_name: 'Bash', tool_input: { command: 'npm test' } },
    { tool_name: 'Edit', tool_input: { file_path: '/srv/a' } },
  ]
  const events = decode({ type: 'result', is_error: false, result: 'x', permission_denials: denials })
  t.deepEqual(
    events.filter(({ kind }) => kind === 'denied'),
    [{ kind: 'denied', what: 'Edit /srv/a' }],
  )
})

test('a failure whose words stand in errors[], or nowhere', t => {
  const last = (record: { [key: string]: string | boolean | string[] }) => decode({ type: 'result', ...record }).at(-1)
  t.like(last({ subtype: 'error_during_execution', is_error: true, errors: ['No conversation found', 'twice'] }), {
    ok: false,
    error: 'No conversation found; twice',
  })
  t.like(last({ subtype: 'error_max_turns', is_error: false }), { ok: false, error: 'error_max_turns' })
})

test('records of other shapes say nothing', t => {
  for (const record of [null, 1, 'result', [], {}, { type: 'result_' }, { type: ['result'] }, { type: 'system' }])
    t.deepEqual(decode(record), [], JSON.stringify(record))
})
