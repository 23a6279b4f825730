import test from 'ava'
import pi from '../../engines/pi.ts'
import type { EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { LoggedRun } from '../../src/engine/session-log.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => pi.decode(viewOf(record))

const model = 'mock/mock-model'
const nothing = { tokens: 0, cost: [0, 'none'] } as const
const unknown = { tokens: 0, cost: [0, 'unknown'] } as const
const once = { model, tokens: 1234, cost: [4110, 'reported'] } as const
const twice = { model, tokens: 2468, cost: [8220, 'reported'] } as const

const said = (facts: string): string => `MOCK-OK model=mock-model ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const noAnswer = failed('engine_cli', true, 'Stream ended without finish_reason')

testTranscripts('pi', {
  'access-read': {
    ...once,
    text: said('msgs=2 users=1 lastlen=6 chars=1780 saw1=false tools=4 lastrole=user'),
    session: '01a230c3-6e75-70d6-afdf-c036ded172d7',
  },
  'access-write': {
    ...twice,
    text: said('msgs=4 users=1 lastlen=6 chars=2261 saw1=false tools=6 lastrole=tool'),
    session: '01a230c3-8155-717f-8849-0d9e47d6f316',
  },
  'bad-flag': { ...failed('engine_cli', true, 'Unknown option: --no-such-flag-xyz'), ...nothing },
  'bad-resume-junk': { ...failed('session_state', false, "No session found matching 'not-a-session'"), ...nothing },
  'bad-resume-uuid': { ...failed('session_state', false, 'No session found matching'), ...nothing },
  'empty-stdin-no-prompt': {
    ...failed('engine_cli', true, 'ended without an answer'),
    ...nothing,
    session: '01a22f9f-359c-7688-b466-e4021381ad75',
  },
  'empty-stream': { ...noAnswer, ...nothing, model, session: '01a22fab-c82a-73ce-bf86-4fc0ad1074eb' },
  'garbage-html': { ...noAnswer, ...nothing, model, session: '01a22fab-8d7a-72b3-b8e6-9f1d1ae4f866' },
  'http-400': {
    ...failed('engine_cli', true, 'bad request'),
    ...{ ...nothing, model, session: '01a22fab-89c2-73ce-8fb0-7162fba86f4c' },
  },
  'http-401': {
    ...failed('auth', false, 'Incorrect API key provided: sk-dummy.'),
    ...{ ...nothing, model, session: '01a22fab-81ed-72e6-b03f-e4acccd67868' },
  },
  'http-404-model': {
    ...failed('engine_cli', true, 'The model `no-such-model` does not exist'),
    ...{ ...nothing, model: 'mock/no-such-model', session: '01a22fab-85d2-7495-acd9-457954431cb9' },
  },
  'http-429': {
    ...failed('rate_limited', true, 'Rate limit reached for requests'),
    ...{ ...nothing, model, session: '01a22fad-6ec2-7307-bd8b-22ef1cebefd5' },
  },
  'http-429-quota': {
    ...failed('quota_exhausted', false, 'You exceeded your current quota'),
    ...{ ...nothing, model, session: '01a22fad-7474-7097-b9ee-01adb94e3e97' },
  },
  'http-500': {
    ...failed('engine_cli', true, 'The server had an error'),
    ...{ ...nothing, model, session: '01a22fad-7a5a-7543-972f-820f8baa440e' },
  },
  'http-529': {
    ...failed('rate_limited', true, 'Overloaded'),
    ...{ ...nothing, model, session: '01a22fad-8059-70e5-a556-823a47230c53' },
  },
  'mcp-extension': {
    ...once,
    text: said('msgs=2 users=1 lastlen=15 chars=1824 saw1=false tools=5 lastrole=user'),
    session: '01a230be-0a68-7732-b0ef-2350e9eaa58d',
  },
  nokey: {
    ...failed('auth', false, 'No API key found for mock.'),
    ...{ ...nothing, session: '01a22f9f-3da2-77fa-bd94-d6c7a1c12e6e' },
  },
  'nologin-fresh': {
    ...failed('auth', false, 'No API key found for the selected model.'),
    ...{ ...nothing, session: '01a22f9f-9700-75d9-8d14-efd6f772473b' },
  },
  refused: {
    ...failed('engine_cli', true, 'ECONNREFUSED'),
    ...{ ...nothing, model, session: '01a22fad-863f-71c8-a9b5-eafe1b688ef5' },
  },
  'resume-ok': {
    ...once,
    text: said('msgs=4 users=2 lastlen=20 chars=2442 saw1=true tools=4 lastrole=user'),
    session: '01a22f9e-a94e-75ba-978c-bec456a2baa9',
  },
  sigint: {
    ...failed('engine_cli', true, 'was ended by SIGINT'),
    ...{ ...unknown, session: '01a22fac-113a-74a5-a00a-4fcb7c48033e' },
  },
  sigterm: {
    ...failed('engine_cli', true, 'exit status 143'),
    ...{ ...nothing, session: '01a22fac-0213-72c6-9ba1-147c7bfe7041' },
  },
  'slow-sigterm': {
    ...failed('engine_cli', true, 'exit status 143'),
    ...{ ...nothing, session: '01a230c3-ac4c-7010-bbe5-5d7ff19a35cb' },
  },
  // Only a part of what it printed was kept, and its end is not in it.
  'stdin-200k': {
    ...failed('engine_cli', true, 'ended without an answer'),
    ...{ ...nothing, session: '01a22f9e-bf7e-7447-89eb-1b8c07326321' },
  },
  'stdin-left-open': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  success: {
    ...once,
    text: said('msgs=2 users=1 lastlen=16 chars=2327 saw1=true tools=4 lastrole=user'),
    session: '01a22f9e-a94e-75ba-978c-bec456a2baa9',
  },
  'tool-write-rofs': {
    ...failed('write_permission', false, "EACCES: permission denied, open '/sys/made.txt'"),
    ...{ ...twice, session: '01a230c3-9869-75da-8f31-43ec82d461c1' },
  },
})

const task: EngineTask = {
  prompt: '-p hi',
  cli: ['/opt/pi', '--x'],
  args: ['--thinking', 'low'],
  cwd: '/srv',
  folder: '/turn',
}
const fixed = ['--x', '-p', '--mode', 'json']
const mcp = { name: 'errand', command: '/opt/errand', args: ['mcp'], env: ['ERRAND_TOKEN'] }

test('what it starts: the prompt on stdin, the flags of the instance last', t => {
  t.deepEqual(pi.command(task), {
    file: '/opt/pi',
    args: [...fixed, '--thinking', 'low'],
    stdin: '-p hi',
    files: {},
    env: { PI_OFFLINE: '1', PI_TELEMETRY: '0' },
  })
})

test('each setting is a flag; instructions and the bus are files of the turn, and no token stands in them', t => {
  const { args, files = {} } = pi.command({
    ...task,
    model: 'anthropic/x',
    session: 's',
    instructions: '-be brief',
    mcp,
  })
  t.deepEqual(args, [
    ...fixed,
    ...['--model', 'anthropic/x', '--session', 's', '--append-system-prompt', '/turn/instructions.md'],
    ...['-e', '/turn/mcp.mjs', '--thinking', 'low'],
  ])
  t.is(files['instructions.md'], '-be brief')
  t.is(
    files['mcp.mjs'],
    'export default pi => pi.registerMcpServer("errand", {"command":"/opt/errand","args":["mcp"],"exposure":"direct"})\n',
  )
})

test('it is given the tools that it may use: no shell below full access', t => {
  const tools = (more: Partial<EngineTask>): string | undefined =>
    /--tools,(.*),--thinking/.exec(pi.command({ ...task, ...more }).args.join(','))?.[1]
  t.is(tools({}), undefined)
  t.is(tools({ access: 'full' }), undefined)
  t.is(tools({ access: 'read' }), 'read,grep,find,ls')
  t.is(tools({ access: 'write', mcp }), 'read,grep,find,ls,edit,write,mcp__errand__*')
})

const usage = { input: 4, output: 23, cacheRead: 7, cacheWrite: 9, reasoning: 5, cost: { total: 0.01 } }
const told = [
  {
    kind: 'usage',
    scope: 'step',
    usage: { inputTokens: 4, outputTokens: 23, cachedInputTokens: 7, cacheWriteTokens: 9, reasoningTokens: 5 },
    cacheApart: true,
  },
  { kind: 'cost', scope: 'step', usd: 0.01 },
] as const
const message = (more: object) => ({
  role: 'assistant',
  provider: 'p',
  model: 'm',
  stopReason: 'stop',
  content: [
    { type: 'thinking', thinking: 'hm' },
    { type: 'text', text: 'hi' },
    { type: 'toolCall', name: 'read' },
  ],
  usage,
  ...more,
})
const ended = (more: object) => decode(viewJson({ type: 'message_end', message: message(more) }))
const viewJson = (value: object): Json => JSON.parse(JSON.stringify(value))

test('a message counts its cache apart, and once: what repeats it says nothing of tokens', t => {
  t.deepEqual(ended({}), [
    { kind: 'model', model: 'p/m' },
    ...told,
    { kind: 'text', text: 'hi' },
    { kind: 'tool', name: 'read' },
  ])
  for (const type of ['message_start', 'message_update', 'turn_end'])
    t.deepEqual(decode(viewJson({ type, message: message({}), usage })), [], type)
  t.deepEqual(decode(viewJson({ type: 'message_end', message: { role: 'user', content: [] } })), [])
})

test('what a broken message holds is no answer; a model without a price in its table has no cost of 0', t => {
  const kinds = (more: object) => ended(more).map(({ kind }) => kind)
  t.deepEqual(kinds({ stopReason: 'error', content: [{ type: 'text', text: 'half' }] }), ['model', 'usage', 'cost'])
  t.deepEqual(kinds({ content: [], usage: { ...usage, cost: { total: 0 } } }), ['model', 'usage'])
})

test('the last message is judged, and only where pi does not try again', t => {
  const end = (more: object, willRetry = false) =>
    decode(viewJson({ type: 'agent_end', willRetry, messages: [{ role: 'user' }, message(more)] }))
  t.deepEqual(end({}), [{ kind: 'result', ok: true, text: 'hi', mayGoOn: true }])
  const content = [{ type: 'text', text: 'one' }, { type: 'thinking' }, { type: 'text', text: 'two' }]
  t.like(end({ content })[0], { text: 'one\ntwo' })
  t.deepEqual(end({ stopReason: 'error' }, true), [])
  t.like(end({ stopReason: 'length' })[0], { ok: false, error: 'The model ended its answer early: length.' })
  const errorMessage = '429: {"message":"Say \\"please\\"","type":"insufficient_quota"}'
  t.deepEqual(end({ stopReason: 'error', errorMessage }), [
    { kind: 'result', ok: false, error: 'Say "please"', status: 429, type: 'insufficient_quota', mayGoOn: true },
  ])
  t.like(decode({ type: 'agent_end', messages: [] })[0], { ok: false })
})

test('a retry says its status, its cause and how long it waits', t => {
  t.deepEqual(decode({ type: 'auto_retry_start', delayMs: 2000, errorMessage: '529 {"message":"Overloaded"}' }), [
    { kind: 'retry', status: 529, reason: 'Overloaded', retryAfterMs: 2000 },
  ])
  t.like(decode({ type: 'summarization_retry_scheduled', errorMessage: 'terminated' })[0], { reason: 'terminated' })
})

test('a compaction is paid', t => {
  t.deepEqual(decode(viewJson({ type: 'compaction_end', result: { usage } })), [...told])
  t.deepEqual(decode({ type: 'compaction_end' }), [])
})

test('a write that was refused is denied; another failed tool is not', t => {
  const tool = (toolName: string, text: string) =>
    decode({ type: 'tool_execution_end', toolName, isError: true, result: { content: [{ type: 'text', text }] } })
  t.deepEqual(tool('write', 'EROFS: read-only file system'), [{ kind: 'denied', what: 'EROFS: read-only file system' }])
  t.deepEqual(tool('bash', 'Tool bash not found'), [{ kind: 'denied', what: 'Tool bash not found' }])
  t.deepEqual(tool('read', 'EACCES: permission denied'), [])
  t.deepEqual(tool('bash', 'npm test failed'), [])
})

test('a session of another folder is told', t => {
  const noise = 'Session found in different project: /srv/b\nFork this session into current directory? [y/N] Aborted.'
  t.is(pi.classify({ exitCode: 0, noise, stderr: '' }).code, 'session_state')
})

test('its log: where it lies, and what is newer than the run', t => {
  const run: LoggedRun = {
    session: 's',
    folder: '/turn',
    cwd: '/srv',
    environment: { HOME: '/home/me' },
    startedAtMs: 5,
  }
  t.deepEqual(pi.log?.files(run), ['/home/me/.pi/agent/sessions/*/*_s.jsonl', '/home/me/.pi/agent/sessions/*_s.jsonl'])
  const moved = { ...run, environment: { PI_CODING_AGENT_DIR: '/a', PI_CODING_AGENT_SESSION_DIR: '/b' } }
  t.deepEqual(pi.log?.files(moved), ['/b/*/*_s.jsonl', '/b/*_s.jsonl'])
  const { session: _, ...unnamed } = run
  t.deepEqual(pi.log?.files(unnamed), [])

  const entry = (more: object, timestamp = '1970-01-01T00:00:00.005Z') =>
    pi.log?.decode(viewOf(viewJson({ type: 'message', timestamp, ...more })), run)
  t.deepEqual(entry({ message: message({}) }), [{ kind: 'model', model: 'p/m' }, ...told])
  t.deepEqual(entry({ message: message({}) }, '1970-01-01T00:00:00.004Z'), [])
  t.deepEqual(entry({ message: message({}) }, 'soon'), [])
  t.deepEqual(entry({ message: { role: 'toolResult' } }), [{ kind: 'asked' }])
  t.deepEqual(entry({ message: message({ stopReason: 'aborted' }) })?.at(-1), { kind: 'asked' })
  t.deepEqual(entry({ type: 'usage', kind: 'cache_warm', usage }), [...told])
  t.deepEqual(entry({ type: 'model_change', modelId: 'm' }), [])
})

test('records of other shapes say nothing, or nothing that counts', t => {
  for (const record of [
    null,
    1,
    'session',
    [],
    {},
    { type: 'session_' },
    { type: ['agent_end'] },
    { type: 'agent_settled' },
  ])
    t.deepEqual(decode(record), [], JSON.stringify(record))
  for (const type of [
    'session',
    'message_end',
    'tool_execution_end',
    'agent_end',
    'compaction_end',
    'auto_retry_start',
  ])
    for (const odd of [null, 1, 'x', [], { role: 'assistant', content: 'x', usage: [] }])
      t.notThrows(() => decode({ type, message: odd, messages: odd, result: odd }))
})
