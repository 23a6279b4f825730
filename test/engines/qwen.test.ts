import test from 'ava'
import qwen from '../../engines/qwen.ts'
import type { EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => qwen.decode(viewOf(record))

const model = 'qwen3-coder-plus'
const nothing = { tokens: 0, cost: [0, 'none'] } as const
const unknown = { tokens: 0, cost: [0, 'unknown'] } as const
// Its own model has no price in the list: such a turn has a cost that nobody knows. A second request reads its memory.
const once = { model, tokens: 2468, cost: [0, 'unknown'] } as const

const said = (facts: string): string => `MOCK-OK model=${model} ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const noLogin = failed('auth', false, 'No auth type is selected.')
const badKey = failed('auth', false, 'Incorrect API key provided: sk-dummy.')
const cut = failed('engine_cli', true, 'was ended by SIG')

testTranscripts('qwen', {
  'bad-resume-junk': { ...failed('session_state', false, 'No saved session found with title'), ...nothing },
  'bad-resume-uuid': { ...failed('session_state', false, 'No saved session found with ID 00000000'), ...nothing },
  'empty-stdin-no-prompt': { ...failed('engine_cli', true, 'No input provided via stdin.'), ...nothing },
  'empty-stream': {
    ...failed('engine_cli', true, 'Model stream ended without a finish reason.'),
    ...nothing,
    model,
    session: 'a3b3cee1-4e40-4902-9cf0-74555f075d74',
  },
  'http-400': {
    ...failed('engine_cli', true, 'bad request'),
    ...nothing,
    model,
    session: 'd02416da-6059-46b7-8e56-79371be315b7',
  },
  'http-401': { ...badKey, ...nothing, model, session: 'ee59cd2a-2675-49b6-ba2e-1619328f46ab' },
  'http-401-stream-json': { ...badKey, ...nothing, model, session: '9b0b8b40-89b9-4983-af64-ddcaedcebdd4' },
  'http-404-model': {
    ...failed('engine_cli', true, 'The model `no-such-model` does not exist'),
    ...nothing,
    model: 'no-such-model',
    session: '0e77daaf-2050-410e-9452-558f1ee7b0ce',
  },
  // Cut by the one who recorded it, after five minutes.
  'http-429': { ...failed('rate_limited', true, 'Rate limit reached for requests'), ...nothing },
  'http-429-quota': { ...failed('quota_exhausted', false, 'You exceeded your current quota'), ...nothing },
  'http-500': {
    ...failed('engine_cli', true, 'The server had an error while processing your request.'),
    ...nothing,
    model,
    session: '35f2a6f2-3845-45c1-a638-f3ee8ca823a4',
  },
  'http-529': {
    ...failed('rate_limited', true, 'Overloaded'),
    ...nothing,
    model,
    session: 'd6262613-5f54-4703-b533-a057cc03878f',
  },
  'mcp-and-settings': {
    ...once,
    text: said('msgs=2 users=1 lastlen=9681 chars=32615 saw1=false tools=10 lastrole=user'),
    session: 'b8e095ae-c3c4-4a56-947b-ca42db5f87b6',
  },
  'mcp-server': {
    ...once,
    text: said('msgs=2 users=1 lastlen=9686 chars=32746 saw1=false tools=10 lastrole=user'),
    session: '7c726aaf-b517-4e57-8e1e-8ccf6b0a40b9',
  },
  'nologin-fresh': { ...noLogin, ...nothing, session: 'bdd35c33-b960-4fce-84bb-0d72ea874e09' },
  'nologin-fresh-stream-json': { ...noLogin, ...nothing, session: 'b0aebc86-ee55-4999-8c1c-f5519e9b58cc' },
  'nologin-fresh-text': { ...noLogin, ...nothing },
  refused: {
    ...failed('engine_cli', true, 'Connection error. (cause: connect ECONNREFUSED 127.0.0.1:4199)'),
    ...nothing,
    model,
    session: 'aaeca509-5bd6-4589-9baf-b3beb2813a38',
  },
  // A total of the session; nothing was seen of it before.
  'resume-ok': {
    text: said('msgs=4 users=2 lastlen=244 chars=32412 saw1=true tools=10 lastrole=user'),
    session: '0d05f949-b727-45cc-9ffa-e8df44e19fc5',
    model,
    tokens: 4936,
    cost: [0, 'unknown'],
  },
  sigint: { ...cut, ...unknown },
  sigterm: { ...cut, ...unknown },
  'sigterm-process-group': { ...failed('engine_cli', true, 'Operation cancelled.'), ...unknown },
  // Why a prompt gets a line before its slash.
  'slash-command': {
    text: 'Session duration: 2ms\nPrompts: 1\nAPI requests: 0\nTokens — prompt: 0, output: 0\nTool calls: 0 (0 ok, 0 fail)\nFiles: +0 / -0 lines',
    session: 'fe62e042-7e50-4d15-9b53-08c846f53e69',
    model,
    tokens: 0,
    cost: [0, 'unknown'],
  },
  'stdin-200k': {
    ...once,
    text: said('msgs=2 users=1 lastlen=215043 chars=238103 saw1=true tools=10 lastrole=user'),
    session: 'd27ea68d-cb73-4f7e-9d21-b654b2fee3d4',
  },
  success: {
    ...once,
    text: said('msgs=2 users=1 lastlen=9227 chars=32287 saw1=true tools=10 lastrole=user'),
    session: '0d05f949-b727-45cc-9ffa-e8df44e19fc5',
  },
  'success-stream-json': {
    ...once,
    text: said('msgs=2 users=1 lastlen=9227 chars=32287 saw1=true tools=10 lastrole=user'),
    session: 'f977edc1-1984-4a56-8a19-967197189678',
  },
  // Plain text is no record: we never ask for it.
  'success-text': {
    ...failed('engine_cli', true, 'The CLI of qwen ended without an answer. It said: MOCK-OK'),
    ...nothing,
  },
  'tool-write-bypass-rofs': {
    ...failed('write_permission', false, 'EROFS: read-only file system'),
    ...once,
    session: '8113e59e-d9cc-456a-a1d1-88ef74908c48',
  },
  // The tool that writes was not offered to the model.
  'tool-write-default-perms': {
    ...once,
    tokens: 3702,
    text: said('msgs=2 users=1 lastlen=9225 chars=32285 saw1=false tools=10 lastrole=user'),
    session: 'f7ed7e15-d15a-4167-adca-f6fff3112501',
  },
  // Ended after the write was refused, and before its answer.
  'tool-write-denied-cut': {
    ...failed('engine_cli', true, 'Operation cancelled.'),
    model,
    session: 'd5c74c5a-97f2-49fc-9382-9096cc00e5d4',
    tokens: 1234,
    cost: [0, 'unknown'],
  },
})

const task: EngineTask = {
  prompt: '-p /stats',
  cli: ['/opt/qwen', '--x'],
  args: ['--auth-type', 'openai'],
  cwd: '/srv/a_b',
  folder: '/turn',
}
const fixed = ['--x', '-o', 'stream-json']

test('what it starts: the prompt on stdin alone, one process, few retries', t => {
  const { file, args, stdin, env, files } = qwen.command(task)
  t.deepEqual([file, ...args], ['/opt/qwen', ...fixed, '--auth-type', 'openai'])
  t.is(stdin, '-p /stats')
  t.is(env?.['QWEN_CODE_NO_RELAUNCH'], 'true')
  t.is(env?.['QWEN_CODE_SYSTEM_DEFAULTS_PATH'], '/turn/defaults.json')
  t.like(JSON.parse(files?.['defaults.json'] ?? ''), { model: { generationConfig: { maxRetries: 0 } } })
})

test('each setting is a flag', t => {
  const mcp = { name: 'errand', command: '/bin/errand', args: ['mcp'], env: ['ERRAND_TOKEN'] }
  const { args } = qwen.command({
    ...task,
    ...{ model: 'qwen3-max', access: 'write', instructions: '-be brief', session: 's-1', mcp },
  })
  t.deepEqual(args, [
    ...fixed,
    ...['-m', 'qwen3-max', '--approval-mode', 'auto-edit', '--append-system-prompt=-be brief', '--resume', 's-1'],
    ...[
      '--mcp-config',
      '{"mcpServers":{"errand":{"command":"/bin/errand","args":["mcp"],"trust":true,"alwaysLoadTools":true}}}',
    ],
    ...['--auth-type', 'openai'],
  ])
  const modes = (['read', 'write', 'full'] as const).map(access => qwen.command({ ...task, access }).args.slice(3, -2))
  t.deepEqual(modes, [
    ['--approval-mode', 'default', '--exclude-tools=write_file,edit,notebook_edit,run_shell_command'],
    ['--approval-mode', 'auto-edit'],
    ['--approval-mode', 'yolo'],
  ])
})

test('it sees the keys of its own provider alone', t => {
  const { env } = qwen
  const names = (of?: string): readonly string[] => (typeof env === 'function' ? env(of) : t.fail('it depends'))
  for (const [of, mine, others] of [
    [undefined, 'OPENAI_API_KEY', ['ANTHROPIC_', 'GEMINI_', 'GOOGLE_']],
    ['qwen3-coder-plus', 'DASHSCOPE_API_KEY', ['ANTHROPIC_', 'GEMINI_', 'GOOGLE_']],
    ['claude-sonnet-4-5', 'ANTHROPIC_*', ['OPENAI_', 'DASHSCOPE_', 'GEMINI_']],
    ['gemini-2.5-pro', 'GEMINI_API_KEY', ['OPENAI_', 'DASHSCOPE_', 'ANTHROPIC_']],
  ] as const) {
    t.true(names(of).includes(mine), of)
    t.false(
      names(of).some(name => others.some(other => name.startsWith(other))),
      of,
    )
  }
})

test('what a helper inside the turn says is no answer, but costs', t => {
  const message = {
    id: 'm',
    model,
    content: [{ type: 'text', text: 'hi' }],
    usage: { input_tokens: 4, output_tokens: 2 },
  }
  const kinds = (parent: Json): readonly string[] =>
    decode({ type: 'assistant', session_id: 's', parent_tool_use_id: parent, message }).map(({ kind }) => kind)
  t.deepEqual(kinds(null), ['session', 'usage', 'text'])
  t.deepEqual(kinds('call_1'), ['session', 'usage'])
})

test('a write that a question would have stood before was refused; a command may have been a reading one', t => {
  const record = { type: 'result', is_error: false, result: 'done', session_id: 's' }
  const denials = (...names: readonly string[]) =>
    decode({ ...record, permission_denials: names.map(tool_name => ({ tool_name, tool_input: { file_path: '/f' } })) })
  t.deepEqual(
    denials('write_file', 'run_shell_command').filter(({ kind }) => kind === 'denied'),
    [{ kind: 'denied', what: 'write_file /f' }],
  )
})

test('retries stand on stderr, with how long it waits', t => {
  t.deepEqual(qwen.decodeError?.('Retrying in 60s (attempt 1/10): [API Error: 429 Rate limit reached for requests]'), [
    { kind: 'retry', status: 429, reason: 'Rate limit reached for requests', retryAfterMs: 60_000 },
  ])
  t.deepEqual(qwen.decodeError?.('Retrying provider attempt (0 buffered tool call(s) discarded).'), [])
})

test('its own account of a session: every request, also those beside the answer', t => {
  const { files, decode: read } = qwen.log ?? t.fail('it keeps one')
  const environment = { HOME: '/home/me' }
  const run = { folder: '/turn', cwd: '/srv/a_b', environment, startedAtMs: Date.parse('2026-12-01'), session: 's-1' }
  t.deepEqual(files(run), ['/home/me/.qwen/projects/-srv-a-b/chats/s-1.jsonl'])
  t.deepEqual(files({ ...run, environment: { QWEN_RUNTIME_DIR: '/run/q' } }), [
    '/run/q/projects/-srv-a-b/chats/s-1.jsonl',
  ])
  const at = (timestamp: string, more: Record<string, Json>) => read(viewOf({ timestamp, ...more }), run)
  const uiEvent = {
    ...{ 'event.name': 'qwen-code.api_response', response_id: 'r', model },
    ...{ input_token_count: 1200, output_token_count: 34, cached_content_token_count: 5, thoughts_token_count: 6 },
  }
  const told = { type: 'system', subtype: 'ui_telemetry', systemPayload: { uiEvent } }
  const usage = { inputTokens: 1200, outputTokens: 34, cachedInputTokens: 5, reasoningTokens: 6 }
  t.deepEqual(at('2026-12-01T08:20:03Z', { type: 'user' }), [{ kind: 'asked' }])
  t.deepEqual(at('2026-12-01T08:20:04Z', told), [{ kind: 'usage', scope: 'step', usage, id: 'r', model }])
  t.deepEqual(at('2026-11-30T23:59:59Z', told), [])
  const refusal = { 'event.name': 'qwen-code.api_error', error_message: '429 Rate limit reached', status_code: 429 }
  t.deepEqual(at('2026-12-01T08:20:05Z', { ...told, systemPayload: { uiEvent: refusal } }), [
    { kind: 'retry', reason: 'Rate limit reached', status: 429 },
  ])
  t.deepEqual(at('2026-12-01T08:20:05Z', { type: 'assistant', usageMetadata: { promptTokenCount: 1200 } }), [])
})

test('no shape of a record is too broken to be read', t => {
  for (const record of [null, 7, 'x', [], {}, { type: 7 }, { type: 'stream_event', event: {} }])
    t.deepEqual(decode(record), [])
  for (const type of ['system', 'assistant', 'user', 'result'])
    for (const odd of [{}, { message: 7 }, { message: { content: [7, {}] } }, { usage: 'x', permission_denials: {} }])
      t.notThrows(() => decode({ type, ...odd }), `${type} ${JSON.stringify(odd)}`)
})
