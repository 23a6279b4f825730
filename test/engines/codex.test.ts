import { join } from 'node:path'
import test from 'ava'
import codex from '../../engines/codex.ts'
import type { EngineEvent, EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { logged, recordsOf } from './logs.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => codex.decode(viewOf(record))

const sessionIn = (scenario: string): { readonly session: string } => ({
  session: recordsOf(join('codex', `${scenario}.stdout`))[0]?.text('thread_id') ?? '',
})

// What each request used at the model that wrote these logs.
const once34 = {
  inputTokens: 1200,
  outputTokens: 34,
  cachedInputTokens: 1000,
  cacheWriteTokens: 0,
  reasoningTokens: 30,
}

const settings = { model: 'gpt-5' }
const nothing = { model: 'gpt-5', tokens: 0, cost: [0, 'none'], settings } as const
const unknown = { model: 'gpt-5', tokens: 0, cost: [0, 'unknown'], settings } as const
const once = { model: 'gpt-5', tokens: 1234, cost: [1840, 'priced'], settings } as const
const twice = { model: 'gpt-5', tokens: 2468, cost: [3680, 'priced'], settings } as const

const said = (facts: string): string => `MOCK-OK model=gpt-5 ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const badKey = failed('auth', false, 'unexpected status 401 Unauthorized: Incorrect API key provided')
const refusedWrite = failed('write_permission', false, "/bin/bash -lc 'echo hi > /home/user/project'")

testTranscripts('codex', {
  'errand-helper': {
    text: 'SAID "{\\"agent_id\\":\\"01a230c8-6230-7730-a4b1-1c04ee1a03a1\\",\\"nickname\\":\\"Kierkegaard\\"}"',
    tokens: 2468,
    cost: [1430, 'priced'],
    model: 'gpt-5',
    settings,
    session: '01a230c8-5978-7a40-9dcc-a297339b35e8',
  },
  'errand-killed': {
    ...failed('engine_cli', true, 'was ended by SIGKILL'),
    ...unknown,
    session: '01a230c7-8dcb-7a61-9eae-ca0b6570a5d8',
  },
  'errand-mcp': {
    text: 'SAID [{"type":"input_text","text":"Wall time: 0.6318 seconds\\nOutput:"},{"type":"input_text","text":"talked to worker loopback=404 token=token-of-this-turn"}]',
    tokens: 2468,
    cost: [1430, 'priced'],
    model: 'gpt-5',
    settings,
    session: '01a230c8-1b1c-79e1-9514-973a781c1684',
  },
  // The provider of OpenAI cannot be told to try less often.
  'errand-openai-500': {
    ...failed('rate_limited', true, 'experiencing high demand'),
    ...nothing,
    session: '01a230c8-8817-7180-b569-33aa4b7e631c',
  },
  'errand-resumed': {
    text: 'TOOL SAID: Chunk ID: e87e44\nWall time: 1.5946 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nmade.txt\n',
    tokens: 3702,
    cost: [5520, 'priced'],
    model: 'gpt-5',
    settings,
    session: '01a230c7-bbd2-7a00-9eb0-5d69255d4b47',
  },
  // It opened another thread and said nothing of it but its id.
  'errand-resumed-junk': {
    ...once,
    text: said('msgs=4 users=2 lastlen=6 chars=19892 saw1=false tools=7 lastrole=user'),
    session: '01a230c7-f14b-7c91-920d-5a7a21dab391',
  },
  // Its tokens are all its own, whatever the other one had come to.
  'errand-resumed-junk, by one who knows what the session had come to': {
    ...once,
    text: said('msgs=4 users=2 lastlen=6 chars=19892 saw1=false tools=7 lastrole=user'),
    session: '01a230c7-f14b-7c91-920d-5a7a21dab391',
    resume: { session: 'not-a-session', totalMicroUsd: 1000, totalTokens: 1200 },
    strayed: true,
  },
  'http-400': {
    ...failed('engine_cli', true, 'bad request'),
    ...nothing,
    session: '01a22f9c-0ef5-7391-9cf7-d303d69f6e4b',
  },
  'http-401': { ...badKey, ...nothing, session: '01a22f9b-f100-7be2-9e6d-0dcbdabd3fe2' },
  'http-404-model': {
    ...failed('engine_cli', true, 'The model `no-such-model` does not exist'),
    ...nothing,
    session: '01a22f9c-0c24-7dd1-b1df-1651979da4d9',
  },
  'http-429': {
    ...failed('rate_limited', true, 'exceeded retry limit, last status: 429 Too Many Requests'),
    ...nothing,
    session: '01a22fa2-484f-7bb2-b0b3-ec1cc97de2a4',
  },
  'http-429-quota': {
    ...failed('quota_exhausted', false, 'Quota exceeded. Check your plan and billing details.'),
    ...nothing,
    session: '01a22fa2-519a-74c0-a371-288ce25b4a2e',
  },
  'http-500': {
    ...failed('rate_limited', true, 'experiencing high demand'),
    ...nothing,
    session: '01a22fa2-5b93-7d43-986f-cb060081f61d',
  },
  'http-529': {
    ...failed('rate_limited', true, 'unexpected status 529'),
    ...nothing,
    session: '01a22fa2-6450-76c2-bcab-5d14b9536677',
  },
  'login-status': { ...failed('auth', false, 'Not logged in'), ...nothing },
  'mcp-server': {
    ...once,
    text: said('msgs=4 users=2 lastlen=6 chars=19923 saw1=false tools=10 lastrole=user'),
    session: '01a22fbe-7d93-7b01-995e-b98f11e4f3a2',
  },
  'no-git-repo': { ...failed('engine_cli', true, 'Not inside a trusted directory'), ...nothing },
  'nologin-fresh': { ...badKey, ...nothing, session: '01a22f9d-a0a9-7863-8dd9-d8317442a7f3' },
  // Waits for a network without end; cut by the one who recorded it.
  refused: {
    ...failed('engine_cli', true, 'Reconnecting... waiting for network'),
    ...unknown,
    session: '01a22fa2-6cdb-7100-8360-3ad01bf3508b',
  },
  // Tokens are totals of the resumed thread; nothing was seen of it before.
  'resume-ok': {
    ...twice,
    text: said('msgs=6 users=3 lastlen=20 chars=20044 saw1=true tools=7 lastrole=user'),
    session: '01a22f98-5b01-7c70-a8e0-c04babc5c380',
  },
  sigint: {
    ...failed('engine_cli', true, 'exit status 1'),
    ...nothing,
    session: '01a22f9c-57ec-76a2-9457-4a7d6f3af3b9',
  },
  sigterm: {
    ...failed('engine_cli', true, 'was ended by SIGTERM'),
    ...unknown,
    session: '01a22f9c-4905-7cd2-b286-ceffb8da8fda',
  },
  'stdin-200k': {
    ...once,
    text: said('msgs=4 users=2 lastlen=205830 chars=225747 saw1=true tools=7 lastrole=user'),
    session: '01a22f98-6643-70f1-887f-3248796782e0',
  },
  'stdin-left-open': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  success: {
    ...once,
    text: said('msgs=4 users=2 lastlen=16 chars=19933 saw1=true tools=7 lastrole=user'),
    session: '01a22f98-5b01-7c70-a8e0-c04babc5c380',
  },
  'success, of a model that nobody named': {
    text: said('msgs=4 users=2 lastlen=16 chars=19933 saw1=true tools=7 lastrole=user'),
    session: '01a22f98-5b01-7c70-a8e0-c04babc5c380',
    tokens: 1234,
    cost: [0, 'unknown'],
  },
  'success, at the price of its instance': {
    ...once,
    text: said('msgs=4 users=2 lastlen=16 chars=19933 saw1=true tools=7 lastrole=user'),
    session: '01a22f98-5b01-7c70-a8e0-c04babc5c380',
    cost: [1540, 'priced'],
    settings: { ...settings, price: { inputPerMTok: 1, outputPerMTok: 10 } },
  },
  'tool-write-bypass-rofs': { ...refusedWrite, ...twice, session: '01a22fa6-d8b0-7660-9d4d-fe2566d83ff9' },
  'tool-write-default-perms': { ...refusedWrite, ...twice, session: '01a22fa6-b711-7fe3-95c0-5babea27c405' },
  'tool-write-default-perms, by an instance that may only read': {
    ...twice,
    text: said('msgs=6 users=2 lastlen=14 chars=20116 saw1=false tools=7 lastrole=tool'),
    denied: ["/bin/bash -lc 'echo hi > /home/user/project'"],
    session: '01a22fa6-b711-7fe3-95c0-5babea27c405',
    settings: { ...settings, access: 'read' },
  },
})

const task: EngineTask = { prompt: '-p /cost', cli: ['/opt/codex'], args: ['-c', 'a=1'], cwd: '/srv', folder: '/turn' }
const fixed = [
  ...['exec', '--json', '--skip-git-repo-check', '-c', 'analytics.enabled=false'],
  ...['-c', 'allow_login_shell=false'],
]

test('what it starts: the prompt on stdin, the flags of the instance before its dash', t => {
  t.deepEqual(codex.command(task), { file: '/opt/codex', args: [...fixed, '-c', 'a=1', '-'], stdin: '-p /cost' })
})

test('each setting is a flag', t => {
  const all: EngineTask = {
    ...task,
    model: 'gpt-5',
    access: 'write',
    instructions: 'be "brief"\n\x7f\ud800',
    capMicroUsd: 7,
  }
  t.deepEqual(codex.command(all).args, [
    ...fixed,
    ...['-m', 'gpt-5', '-s', 'workspace-write'],
    ...['-c', 'developer_instructions="be \\"brief\\"\\n\\u007f\ufffd"'],
    ...['-c', 'a=1', '-'],
  ])
  const modes = (['read', 'write', 'full'] as const).map(access => codex.command({ ...task, access }).args.at(-4))
  t.deepEqual(modes, ['read-only', 'workspace-write', 'danger-full-access'])
})

test('a thread goes on, and every flag stands before the word that takes hardly any', t => {
  const { args } = codex.command({ ...task, access: 'read', session: 'abc' })
  t.deepEqual(args, [...fixed, '-s', 'read-only', '-c', 'a=1', 'resume', 'abc', '-'])
})

test('the bus is handed over: its tools need no approval, its variables go by name', t => {
  const mcp = { name: 'errand', command: '/opt/node "24"', args: ['mcp', '-x'], env: ['ERRAND_TOKEN', 'ERRAND_TURN'] }
  const { args } = codex.command({ ...task, mcp })
  t.deepEqual(args.slice(fixed.length, -3), [
    '-c',
    'mcp_servers.errand={command="/opt/node \\"24\\"",args=["mcp","-x"],env_vars=["ERRAND_TOKEN","ERRAND_TURN"],' +
      'default_tools_approval_mode="approve",tool_timeout_sec=86400,required=true,startup_timeout_sec=60}',
  ])
})

const main = '01a230c8-5d93-7361-9446-4dbe7b1c1d40'
const startedAtMs = Date.parse('2026-12-01T08:46:00Z')
const inHome = { folder: '/turn', cwd: '/srv', environment: { HOME: '/home/me' }, startedAtMs }

test('its log is looked for by its thread, and those of its helpers by the time', t => {
  const files = codex.log?.files({ ...inHome, session: main }) ?? []
  t.true(files.includes(`/home/me/.codex/sessions/2026/12/01/rollout-*-${main}.jsonl`))
  t.true(files.includes('/home/me/.codex/sessions/2026/12/01/rollout-*-01a230c*.jsonl'))
  const elsewhere = codex.log?.files({ ...inHome, session: main, environment: { CODEX_HOME: '/srv/codex' } }) ?? []
  t.true(elsewhere.includes(`/srv/codex/sessions/2026/12/01/rollout-*-${main}.jsonl`))
})

test('where nothing tells its thread or its home, there is no log', t => {
  for (const run of [
    inHome,
    { ...inHome, session: '../../etc' },
    { ...inHome, session: main, environment: {} },
    { ...inHome, session: main, environment: { CODEX_HOME: 'here' } },
  ])
    t.deepEqual(codex.log?.files(run), [])
})

const inLog = (name: string, session: string, sinceMs: number) =>
  logged(codex, join('codex', name), { ...inHome, session, startedAtMs: sinceMs })

test('each request stands in its log, with what the cache gave', t => {
  const { session } = sessionIn('errand-helper')
  const events = inLog('errand-helper.log.jsonl', session, 0)
  t.deepEqual(
    events.filter(({ kind }) => kind === 'usage'),
    Array<EngineEvent>(2).fill({ kind: 'usage', scope: 'step', usage: once34 }),
  )
  t.deepEqual(
    events.find(({ kind }) => kind === 'model'),
    { kind: 'model', model: 'gpt-5' },
  )
})

test('what a helper used is paid by the turn that started it, and by no other', t => {
  const { session } = sessionIn('errand-helper')
  t.deepEqual(inLog('errand-helper.log1.jsonl', session, 0), [{ kind: 'usage', scope: 'step', usage: once34 }])
  t.deepEqual(inLog('errand-helper.log1.jsonl', main, 0), [])
})

test('a turn that was cut had asked, and was told nothing', t => {
  const { session } = sessionIn('errand-killed')
  t.deepEqual(
    inLog('errand-killed.log.jsonl', session, 0).map(({ kind }) => kind),
    ['model', 'asked'],
  )
})

test('of a resumed thread only what is newer than the turn counts', t => {
  const { session } = sessionIn('errand-resumed')
  const requests = (sinceMs: number): number =>
    inLog('errand-resumed.log.jsonl', session, sinceMs).filter(({ kind }) => kind === 'usage').length
  t.is(requests(0), 3)
  t.is(requests(Date.parse('2026-12-01T08:48:00Z')), 2)
})

test('a reconnect is a retry, with the status that it met and the cause without the counting', t => {
  const why = 'unexpected status 401 Unauthorized: no (really), url: http://127.0.0.1:4010/m/s529/v1'
  const waiting = 'Reconnecting... waiting for network'
  t.deepEqual(decode({ type: 'error', message: `Reconnecting... 1/5 (${why})` }), [
    { kind: 'retry', reason: why, status: 401 },
  ])
  t.deepEqual(decode({ type: 'error', message: waiting }), [{ kind: 'retry', reason: waiting, status: undefined }])
})

test('what came from the cache and what was thought are parts, not more', t => {
  const usage = {
    input_tokens: 1_000_000,
    cached_input_tokens: 900_000,
    output_tokens: 10_000,
    reasoning_output_tokens: 6000,
  }
  t.deepEqual(decode({ type: 'turn.completed', usage }), [
    {
      kind: 'usage',
      scope: 'session',
      usage: {
        inputTokens: 1_000_000,
        outputTokens: 10_000,
        cachedInputTokens: 900_000,
        cacheWriteTokens: 0,
        reasoningTokens: 6000,
      },
    },
    { kind: 'result', ok: true, text: '' },
  ])
})

test('a change of files that was declined is denied, a failed command is not', t => {
  const completed = (item: { type: string; status: string; command?: string; aggregated_output?: string }) =>
    decode({ type: 'item.completed', item })
  t.deepEqual(completed({ type: 'file_change', status: 'declined' }), [{ kind: 'denied', what: 'a change of files' }])
  t.deepEqual(completed({ type: 'file_change', status: 'completed' }), [])
  t.deepEqual(
    completed({ type: 'command_execution', status: 'failed', command: 'npm test', aggregated_output: 'no' }),
    [],
  )
})

test('records of other shapes say nothing', t => {
  for (const record of [null, 1, 'error', [], {}, { type: 'turn' }, { type: ['error'] }, { type: 'item.completed' }])
    t.deepEqual(decode(record), [], JSON.stringify(record))
})
