import test from 'ava'
import gemini from '../../engines/gemini.ts'
import type { EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => gemini.decode(viewOf(record))

const model = 'gemini-2.5-pro'
const nothing = { tokens: 0, cost: [0, 'none'] } as const
const once = { model, tokens: 1234, cost: [1840, 'priced'] } as const
const twice = { model, tokens: 2468, cost: [3680, 'priced'] } as const

const said = (facts: string): string => `MOCK-OK model=${model} ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const badKey = failed('auth', false, 'API keys are not supported by this API.')
const noLogin = failed('auth', false, 'Please set an Auth method in your')
const limited = failed('rate_limited', true, 'Resource has been exhausted (e.g. check quota).')
const noAnswer = failed('engine_cli', true, 'The CLI of gemini ended without an answer.')
const empty = failed('engine_cli', true, 'Model stream ended without a finish reason.')
const garbage = failed('engine_cli', true, 'Incomplete JSON segment at the end')

testTranscripts('gemini', {
  'bad-flag': { ...failed('engine_cli', true, 'Unknown arguments: such-flag-xyz'), ...nothing },
  'bad-resume-uuid': { ...failed('session_state', false, 'Error resuming session: Invalid session'), ...nothing },
  'base-url-without-settings': { ...failed('auth', false, 'Invalid auth method selected.'), ...nothing },
  'empty-stdin-no-prompt': { ...failed('engine_cli', true, 'No input provided via stdin.'), ...nothing },
  'empty-stream': { ...empty, ...nothing, session: 'dcd8156a-a8c7-4960-80a8-d2115413a01c' },
  'empty-stream-stream-json': { ...empty, ...nothing, model, session: 'a9955c9c-c02a-4116-92d8-c521f6f8976b' },
  'garbage-html': { ...garbage, ...nothing },
  'garbage-html-stream-json': { ...garbage, ...nothing, model, session: 'd6d6e438-6452-4424-8578-6fceac100893' },
  'http-400': { ...failed('auth', false, 'API key not valid. Please pass a valid API key.'), ...nothing },
  'http-401': { ...badKey, ...nothing },
  'http-401-stream-json': { ...badKey, ...nothing, model, session: '378974cc-10ee-476a-a31f-0e8b00fd4f6f' },
  'http-404-model': { ...failed('engine_cli', true, 'models/no-such-model is not found'), ...nothing },
  'http-429': { ...limited, ...nothing },
  // Ended while it was still trying.
  'http-429-cut-stream-json': { ...limited, ...nothing, model, session: '6f3209e4-f05c-4767-9915-8ff4d1e683fb' },
  'http-429-quota': { ...limited, ...nothing },
  'http-500': { ...failed('engine_cli', true, 'An internal error has occurred.'), ...nothing },
  'http-529': { ...failed('rate_limited', true, 'The model is overloaded.'), ...nothing },
  'mcp-server': {
    ...once,
    text: said('msgs=2 users=1 lastlen=506 chars=23841 saw1=false tools=9 lastrole=user'),
    session: '158d763a-d935-42a2-8919-43799c1d5f79',
  },
  nokey: { ...failed('auth', false, 'you must specify the GEMINI_API_KEY environment variable. Update'), ...nothing },
  'nologin-fresh': { ...noLogin, ...nothing },
  'nologin-fresh-stream-json': { ...noLogin, ...nothing },
  'nologin-oauth': { ...failed('auth', false, 'Manual authorization is required'), ...nothing },
  refused: { ...failed('engine_cli', true, 'fetch failed sending request'), ...nothing },
  'resume-ok': {
    ...once,
    text: said('msgs=4 users=2 lastlen=20 chars=23966 saw1=true tools=8 lastrole=user'),
    session: 'f555457e-fa0e-46a5-8f24-a55d749b68ab',
  },
  sigterm: { ...failed('engine_cli', true, 'was ended by SIGKILL'), tokens: 0, cost: [0, 'unknown'] },
  'sigterm-no-relaunch': { ...noAnswer, ...nothing },
  'stdin-200k': {
    ...once,
    text: said('msgs=2 users=1 lastlen=206327 chars=229659 saw1=true tools=8 lastrole=user'),
    session: '6a021302-5a29-447b-92dc-d4c216c116d4',
  },
  'stdin-short-plus-argv': {
    ...once,
    text: said('msgs=2 users=1 lastlen=534 chars=23866 saw1=true tools=8 lastrole=user'),
    session: 'ca774ee3-88c3-421a-ae1a-846367d93fde',
  },
  success: {
    ...once,
    text: said('msgs=2 users=1 lastlen=513 chars=23845 saw1=true tools=8 lastrole=user'),
    session: 'f555457e-fa0e-46a5-8f24-a55d749b68ab',
  },
  'success-stream-json': {
    ...once,
    text: said('msgs=2 users=1 lastlen=513 chars=23845 saw1=true tools=8 lastrole=user'),
    session: 'e59813da-14da-4ff3-9b1c-716360d1d2f5',
  },
  // Plain text is no record: we never ask for it.
  'success-text': { ...noAnswer, ...nothing },
  'tool-write-auto-edit': {
    ...twice,
    text: said('msgs=4 users=1 lastlen=458 chars=23867 saw1=false tools=12 lastrole=tool'),
    session: 'e70a5396-03eb-4898-ade7-056f60764204',
  },
  // The tool that writes was not offered to the model.
  'tool-write-default-perms': {
    ...once,
    text: said('msgs=2 users=1 lastlen=511 chars=23843 saw1=false tools=8 lastrole=user'),
    session: '42215784-d162-4084-b0b8-5004a9f52b7b',
  },
  'tool-write-outside': {
    ...failed('write_permission', false, 'Path not in workspace'),
    ...twice,
    session: 'b51442cf-62c6-4395-9a4f-d154a1fdee8c',
  },
  'untrusted-folder': { ...failed('engine_cli', true, 'is not running in a trusted directory'), ...nothing },
})

const task: EngineTask = {
  prompt: '-p /stats',
  cli: ['/opt/gemini', '--x'],
  args: ['--debug'],
  cwd: '/srv',
  folder: '/turn',
}
const fixed = ['--x', '--skip-trust', '-o', 'stream-json', '--admin-policy=/turn/policy.toml']

test('what it starts: the prompt on stdin alone, one process, no browser', t => {
  const { file, args, stdin, env } = gemini.command(task)
  t.deepEqual([file, ...args], ['/opt/gemini', ...fixed, '--debug'])
  t.is(stdin, '-p /stats')
  t.deepEqual(env, { GEMINI_CLI_NO_RELAUNCH: 'true', NO_BROWSER: 'true' })
})

test('each setting is a flag', t => {
  const { args } = gemini.command({ ...task, model: 'gemini-2.5-flash', access: 'write', session: 's-1' })
  const flags = ['-m', 'gemini-2.5-flash', '--approval-mode', 'auto_edit', '--resume', 's-1']
  t.deepEqual(args, [...fixed, ...flags, '--debug'])
  const modes = (['read', 'write', 'full'] as const).map(access => gemini.command({ ...task, access }).args[6])
  t.deepEqual(modes, ['default', 'auto_edit', 'yolo'])
})

test('everyone may delegate; a reader may neither write nor run anything else', t => {
  const policy = (access?: 'read' | 'write' | 'full') =>
    gemini.command({ ...task, ...(access === undefined ? {} : { access }) }).files?.['policy.toml'] ?? ''
  for (const access of [undefined, 'read', 'write', 'full'] as const) {
    t.regex(policy(access), /commandPrefix = "errand talk"\ndecision = "allow"/)
    t.is(policy(access).includes('decision = "deny"'), access === 'read')
  }
  t.regex(policy('read'), /toolName = \["write_file", "replace", "run_shell_command"\]\ndecision = "deny"/)
})

test('what was thought is paid as output, and each model by its own price', t => {
  const stats = { total_tokens: 2234, input_tokens: 1200, output_tokens: 34, cached: 200 }
  const usage = { inputTokens: 1200, outputTokens: 34, cachedInputTokens: 200, reasoningTokens: 1000 }
  const record = { type: 'result', status: 'success', stats: { models: { [model]: stats, 'gemini-2.5-flash': {} } } }
  const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }
  const step = { kind: 'usage', scope: 'step', reasoningApart: true } as const
  t.deepEqual(decode(record), [
    { ...step, id: model, model, usage },
    { ...step, id: 'gemini-2.5-flash', model: 'gemini-2.5-flash', usage: none },
    { kind: 'result', ok: true, text: '' },
  ])
})

test('a model that it chooses by itself is told by the end', t => {
  t.deepEqual(decode({ type: 'init', session_id: 's', model: 'auto-gemini-3' }), [
    { kind: 'session', id: 's' },
    { kind: 'model', model: '' },
  ])
})

test('retries stand on stderr, with how long it waits', t => {
  const line = (text: string) => gemini.decodeError?.(text)
  const body = '{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}'
  const reason = 'The model is overloaded.'
  t.deepEqual(line(`Attempt 1 failed with status 503. Retrying with backoff... _ApiError: ${body}`), [
    { kind: 'retry', reason, status: 503, retryAfterMs: 5000 },
  ])
  t.deepEqual(line('Attempt 9 failed: Please retry in 34s. Retrying after 34012ms...'), [
    { kind: 'retry', reason: 'Please retry in 34s.', status: 429, retryAfterMs: 34_012 },
  ])
  t.deepEqual(line('Ripgrep is not available. Falling back to GrepTool.'), [])
})

test('a limit that passes is no empty account', t => {
  const cause = (error: string, status?: number) =>
    gemini.classify({ result: { kind: 'result', ok: false, error, status }, noise: '', stderr: '' }).code
  const quota = 'You exceeded your current quota, please check your plan and billing details.'
  t.is(cause(`${quota} Please retry in 34.07s.`, 429), 'rate_limited')
  t.is(cause(quota, 429), 'quota_exhausted')
  t.is(cause('You have exhausted your daily quota on this model.'), 'quota_exhausted')
})

test('its own account of a session: a request is open until its tokens are told', t => {
  const { files, decode: read } = gemini.log ?? t.fail('it keeps one')
  const run = { folder: '/turn', cwd: '/srv', environment: { HOME: '/home/me' }, startedAtMs: Date.parse('2026-12-01') }
  t.deepEqual(files(run), [])
  t.deepEqual(files({ ...run, session: 'bb7690a5-3feb-459e-8b93-b28a4745c290' }), [
    '/home/me/.gemini/tmp/*/chats/session-*-bb7690a5.jsonl',
    '/home/me/.gemini/tmp/*/chats/bb7690a5-3feb-459e-8b93-b28a4745c290/*.jsonl',
  ])
  const at = (timestamp: string, more: Record<string, Json>) => read(viewOf({ timestamp, ...more }), run)
  const tokens = { input: 1200, output: 34, cached: 100, thoughts: 5, tool: 7, total: 1246 }
  t.deepEqual(at('2026-12-01T08:20:03Z', { type: 'user', id: 'u', content: [] }), [{ kind: 'asked' }])
  t.deepEqual(at('2026-12-01T08:20:04Z', { type: 'gemini', id: 'g', model, tokens }), [
    {
      kind: 'usage',
      scope: 'step',
      usage: { inputTokens: 1207, outputTokens: 34, cachedInputTokens: 100, reasoningTokens: 5 },
      reasoningApart: true,
      id: 'g',
      model,
    },
  ])
  t.deepEqual(at('2026-11-30T23:59:59Z', { type: 'gemini', id: 'g', model, tokens }), [])
  t.deepEqual(read(viewOf({ $set: { lastUpdated: '2026-12-01T08:20:04Z' } }), run), [])
})

test('no shape of a record is too broken to be read', t => {
  for (const record of [null, 7, 'x', [], {}, { type: 7 }, { type: 'message', role: 'user', content: 'hi' }])
    t.deepEqual(decode(record), [])
  for (const type of ['init', 'message', 'tool_use', 'tool_result', 'error', 'result'])
    for (const odd of [{}, { stats: 7 }, { stats: { models: [] } }, { error: 'x', role: 'assistant', content: {} }])
      t.notThrows(() => decode({ type, ...odd }), `${type} ${JSON.stringify(odd)}`)
  t.is(gemini.decodeError?.('Attempt 1 failed. Retrying with backoff...')?.length ?? 0, 1)
})
