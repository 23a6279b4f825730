import { join } from 'node:path'
import test from 'ava'
import copilot from '../../engines/copilot.ts'
import type { EngineTask, Json } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { logged } from './logs.ts'
import { testTranscripts } from './replay.ts'

const decode = (record: Json) => copilot.decode(viewOf(record))

// What it used stands in its session's log alone, and none was recorded beside these.
const settings = { model: 'gpt-5' }
const nothing = { model: 'gpt-5', tokens: 0, cost: [0, 'none'], settings } as const
const unknown = { model: 'gpt-5', tokens: 0, cost: [0, 'unknown'], settings } as const

const said = (facts: string): string => `MOCK-OK model=gpt-5 ${facts}`
const failed = (code: ErrorCode, retryable: boolean, says: string) => ({ code, retryable, says })

const noSession = (name: string) => failed('session_state', false, `No session, task, or name matched '${name}'`)
const refusedWrite = (what: string) => failed('write_permission', false, what)

testTranscripts('copilot', {
  'bad-flag': { ...failed('engine_cli', true, 'Invalid command format'), ...nothing },
  'bad-resume-junk': { ...noSession('not-a-session'), ...nothing },
  'bad-resume-uuid': { ...noSession('00000000-0000-4000-8000-000000000000'), ...nothing },
  'byok-no-model': { ...failed('engine_cli', true, 'BYOK providers require an explicit model.'), ...nothing },
  'empty-stdin-no-prompt': { ...failed('engine_cli', true, 'No prompt provided.'), ...nothing },
  'empty-stream': {
    ...failed('engine_cli', true, 'Failed to get response from the AI model; retried 5 times'),
    ...nothing,
    session: 'db480f26-7a6b-4a77-974f-628c064e16b6',
  },
  'errand-full-shell': {
    ...unknown,
    text: 'TOOL SAID: made.txt\n<shellId: 0 completed with exit code 0>',
    session: '8b0a08e1-8f7d-4f3e-89b2-2043e70c13e7',
  },
  'errand-instructed': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=74 chars=23174 saw1=false tools=17 lastrole=user'),
    session: '6b51ab58-a590-4ddb-8fba-7346484e928b',
  },
  'errand-killed': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  'errand-mcp': {
    ...unknown,
    text: 'TOOL SAID: talked to worker loopback=404 token=token-of-this-turn',
    session: 'e453f413-965a-47e2-831a-637e5d4d56d4',
  },
  'errand-read': {
    ...unknown,
    text: said('msgs=4 users=1 lastlen=82 chars=23226 saw1=false tools=17 lastrole=tool'),
    denied: ['create'],
    session: '17de05bd-58ba-4544-8e5e-10f515078d44',
    settings: { ...settings, access: 'read' },
  },
  'errand-read-shell': {
    ...unknown,
    text: 'TOOL SAID: Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it, or try an alternative that does not require this permission.',
    session: '8433e6eb-df72-4ce3-8c5c-9a1a512c10bb',
    settings: { ...settings, access: 'read' },
  },
  'errand-resumed': {
    ...unknown,
    text: said('msgs=4 users=2 lastlen=74 chars=23309 saw1=false tools=17 lastrole=user'),
    session: 'b910471a-aed6-4709-8c15-970005531af6',
  },
  'errand-write': {
    ...unknown,
    text: said('msgs=4 users=1 lastlen=82 chars=23217 saw1=false tools=17 lastrole=tool'),
    session: '19b46c49-9bbf-48a7-891f-41cada5ca8cc',
  },
  'garbage-html': {
    ...failed('engine_cli', true, 'request ended without sending any chunks'),
    ...nothing,
    session: '761a1b98-50d1-4557-9f4f-e005e16339e8',
  },
  'http-401': {
    ...failed('auth', false, 'Authentication failed with provider at'),
    ...nothing,
    session: 'f326581d-9d56-462f-8c70-5e8c0aa2c5c7',
  },
  'http-404-model': {
    ...failed('engine_cli', true, "Model 'no-such-model' not found on provider"),
    ...nothing,
    model: 'no-such-model',
    session: 'fc106439-ce3b-4336-ba1e-1c8771ef06da',
  },
  'http-429': {
    ...failed('rate_limited', true, 'Last error: 429 Rate limit reached for requests'),
    ...nothing,
    session: '931b7d7a-b285-4ecb-8efb-ebc186f5568b',
  },
  'http-429-quota': {
    ...failed('quota_exhausted', false, 'Last error: 429 You exceeded your current quota'),
    ...nothing,
    session: 'b92bc689-3983-4a2f-bab7-c5142bc9ebcd',
  },
  'http-500': {
    ...failed('engine_cli', true, 'Last error: 500 The server had an error'),
    ...nothing,
    session: '8c2ac3ae-6949-4018-b5e5-89052ddb8083',
  },
  'http-529': {
    ...failed('rate_limited', true, 'Last error: 529 Overloaded'),
    ...nothing,
    session: '5c061bd5-9085-4f3a-babe-6141c3adca88',
  },
  // It went on without end, whatever its cap was; cut by the one who recorded it.
  'max-ai-credits': { ...failed('engine_cli', true, 'was ended by SIGKILL'), ...unknown },
  'mcp-server': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=74 chars=23167 saw1=false tools=18 lastrole=user'),
    session: '97f0eed4-6ab2-4780-bd3b-53de37aa3a9e',
  },
  'nologin-fresh': { ...failed('auth', false, 'No authentication information found.'), ...nothing },
  'resume-ok': {
    ...unknown,
    text: said('msgs=4 users=2 lastlen=88 chars=23357 saw1=true tools=17 lastrole=user'),
    session: '0a24b6b5-fdae-4611-9215-acec2fc0ed47',
  },
  'sigterm-process-group': { ...failed('engine_cli', true, 'Cannot invoke native session'), ...unknown },
  'stdin-200k': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=205898 chars=228991 saw1=true tools=17 lastrole=user'),
    session: 'a542e108-2101-4e2b-9c36-d45239100412',
  },
  'stdin-left-open': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=84 chars=23177 saw1=true tools=17 lastrole=user'),
    session: '95b78d9f-201c-47ec-8aac-58da902c4f13',
  },
  'stdin-short-plus-argv': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=83 chars=23176 saw1=false tools=17 lastrole=user'),
    session: 'cf8893d8-e05f-4c46-9ae3-58ea6c278e5f',
  },
  success: {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=84 chars=23177 saw1=true tools=17 lastrole=user'),
    session: '0a24b6b5-fdae-4611-9215-acec2fc0ed47',
  },
  'success, at a price per turn': {
    ...unknown,
    text: said('msgs=2 users=1 lastlen=84 chars=23177 saw1=true tools=17 lastrole=user'),
    session: '0a24b6b5-fdae-4611-9215-acec2fc0ed47',
    cost: [20_000, 'priced'],
    settings: { ...settings, price: { perTurn: 0.02 } },
  },
  'tool-write-bypass-rofs': {
    ...refusedWrite('EROFS: read-only file system'),
    ...unknown,
    session: '4f47efbf-80c3-4efd-bfac-03905ed1e033',
  },
  'tool-write-default-perms': {
    ...refusedWrite('create'),
    ...unknown,
    session: '12e99bd5-7b43-44cb-8683-4cca8a755d2b',
  },
  'tool-write-default-perms, by an instance that may only read': {
    ...unknown,
    text: said('msgs=4 users=1 lastlen=82 chars=23367 saw1=false tools=17 lastrole=tool'),
    denied: ['create'],
    session: '12e99bd5-7b43-44cb-8683-4cca8a755d2b',
    settings: { ...settings, access: 'read' },
  },
})

const task: EngineTask = {
  prompt: '/help',
  cli: ['/opt/copilot'],
  args: ['--effort=low'],
  cwd: '/srv',
  folder: '/turn',
}
const fixed = ['--output-format=json', '--no-auto-update', '--disable-client-telemetry', '--no-ask-user']
const ofTurn = 'cf16af19-6673-4cc5-89f5-98cf6d5602e4'

test('what it starts: the prompt on stdin, a session of its own, the flags of the instance last', t => {
  t.deepEqual(copilot.command(task), {
    file: '/opt/copilot',
    args: [...fixed, `--session-id=${ofTurn}`, '--allow-tool=shell(errand:*)', '--effort=low'],
    stdin: '/help',
    env: {},
    files: {},
  })
})

test('each turn has a session of its own: a UUID that its folder alone tells', t => {
  const sessions = ['/turn', '/turn2', '/t/0123456789abcdef', '/t/0123456789abcdee'].map(
    folder => copilot.command({ ...task, folder }).args.find(arg => arg.startsWith('--session-id=')) ?? '',
  )
  for (const session of sessions)
    t.regex(session, /^--session-id=[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/)
  t.is(new Set(sessions).size, sessions.length)
})

test('each setting is a flag, a variable or a file', t => {
  const { args, env, files } = copilot.command({
    ...task,
    ...{ model: 'gpt-5', access: 'write', instructions: 'Be brief.', session: 'abc', capMicroUsd: 7 },
  })
  t.deepEqual(args, [
    ...[...fixed, '--resume=abc', '--model=gpt-5', '--allow-tool=write', '--allow-tool=shell(errand:*)'],
    '--effort=low',
  ])
  t.deepEqual(env, { COPILOT_ALLOW_ALL: 'false', COPILOT_CUSTOM_INSTRUCTIONS_DIRS: '/turn' })
  t.deepEqual(files, { 'errand.instructions.md': '---\napplyTo: "**"\n---\nBe brief.\n' })
})

test('who may read is refused every write, whatever a person allows in their own shell', t => {
  const { args, env } = copilot.command({ ...task, access: 'read' })
  t.true(args.includes('--deny-tool=write'))
  t.deepEqual(env, { COPILOT_ALLOW_ALL: 'false' })
  const full = copilot.command({ ...task, access: 'full' })
  t.true(full.args.includes('--allow-all'))
  t.deepEqual(full.env, {})
})

test('the bus is handed over: its tools need no approval, and no variable stands there', t => {
  const mcp = { name: 'errand', command: '/opt/node', args: ['mcp'], env: ['ERRAND_TOKEN'] }
  const { args } = copilot.command({ ...task, mcp })
  t.deepEqual(args.slice(-3), [
    '--additional-mcp-config={"mcpServers":{"errand":{"type":"local","command":"/opt/node","args":["mcp"],"tools":["*"]}}}',
    '--allow-tool=errand',
    '--effort=low',
  ])
})

const inHome = { folder: '/turn', cwd: '/srv', environment: { HOME: '/home/me' }, startedAtMs: 0 }

test('its log is found by its session, and by the one that it was given when it was cut before it told', t => {
  const at = (run: object): readonly string[] | undefined => copilot.log?.files({ ...inHome, ...run })
  t.deepEqual(at({ session: 'abc' }), ['/home/me/.copilot/session-state/abc/events.jsonl'])
  t.deepEqual(at({}), [`/home/me/.copilot/session-state/${ofTurn}/events.jsonl`])
  t.deepEqual(at({ session: 'abc', environment: { HOME: '/home/me', COPILOT_HOME: '/srv/copilot' } }), [
    '/srv/copilot/session-state/abc/events.jsonl',
  ])
  for (const run of [{ session: '../..' }, { environment: {} }, { environment: { COPILOT_HOME: 'here' } }])
    t.deepEqual(at(run), [], JSON.stringify(run))
})

const usage = {
  inputTokens: 1200,
  outputTokens: 34,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

const inLog = (scenario: string, startedAtMs = 0) =>
  logged(copilot, join('copilot', `${scenario}.log.jsonl`), { ...inHome, startedAtMs })

test('its log tells each request, before and after a tool', t => {
  const events = inLog('errand-write')
  t.deepEqual(
    events.map(({ kind }) => kind),
    ['asked', 'usage', 'asked', 'usage'],
  )
  t.like(events[1], { kind: 'usage', scope: 'step', model: 'gpt-5', usage })
})

test('a turn that was cut had asked, and was told nothing', t => {
  t.deepEqual(inLog('errand-killed'), [{ kind: 'asked' }])
})

test('of a resumed session only what is newer than the turn counts', t => {
  t.is(inLog('errand-resumed').length, 4)
  t.is(inLog('errand-resumed', Date.parse('2026-12-01T08:44:48Z')).length, 2)
})

test('AI credits are cents; where there are none, nothing was said of dollars', t => {
  const total = (totalNanoAiu: Json) => decode({ type: 'session.usage_checkpoint', data: { totalNanoAiu } })
  t.deepEqual(total(1_510_581_560_000), [{ kind: 'cost', scope: 'session', id: undefined, usd: 15.1058156 }])
  t.deepEqual(total(0), [])
  t.deepEqual(total('many'), [])
  const record = viewOf({
    type: 'session.usage_record',
    id: 'r1',
    timestamp: '2026-12-01T08:00:00Z',
    data: { usage: { model: 'm', inputTokens: 10, outputTokens: 1, copilotUsage: { totalNanoAiu: 2e9 } } },
  })
  t.deepEqual(copilot.log?.decode(record, inHome).at(-1), { kind: 'cost', scope: 'step', id: 'r1', usd: 0.02 })
})

test('an error after which it goes on with another model is none yet, and a helper speaks for nobody', t => {
  const error = { errorType: 'rate_limit', message: 'weekly limit', statusCode: 429 }
  t.deepEqual(decode({ type: 'session.error', data: { ...error, eligibleForAutoSwitch: true } }), [
    { kind: 'retry', status: 429, reason: 'weekly limit' },
  ])
  t.deepEqual(decode({ type: 'session.error', data: error }), [
    { kind: 'result', ok: false, error: 'weekly limit', status: 429, type: 'rate_limit' },
  ])
  t.deepEqual(decode({ type: 'session.error', agentId: 'helper', data: error }), [])
  t.deepEqual(decode({ type: 'assistant.message', agentId: 'helper', data: { content: 'mine' } }), [])
})

test('what its categories of errors mean', t => {
  const code = (type: string) =>
    copilot.classify({ result: { kind: 'result', ok: false, error: 'why', type }, noise: '', stderr: '' }).code
  t.is(code('authentication'), 'auth')
  t.is(code('authorization'), 'auth')
  t.is(code('quota'), 'quota_exhausted')
  t.is(code('query'), 'engine_cli')
  t.is(code('constructor'), 'engine_cli')
})

test('only a refused write is denied', t => {
  const refused = (command: string) => ({
    success: false,
    error: { code: 'denied', message: 'Permission denied' },
    toolTelemetry: { properties: { command } },
  })
  const complete = (data: { [key: string]: Json }) => decode({ type: 'tool.execution_complete', data })
  for (const tool of ['create', 'edit', 'insert', 'str_replace', 'apply_patch'])
    t.deepEqual(complete(refused(tool)), [{ kind: 'denied', what: tool }])
  for (const tool of ['view', '']) t.deepEqual(complete(refused(tool)), [])
  const failed = (message: string) => complete({ ...refused('create'), error: { code: 'failure', message } })
  for (const why of ["EACCES: permission denied, open '/x'", "EROFS: read-only file system, open '/x'"])
    t.deepEqual(failed(why), [{ kind: 'denied', what: why }])
  t.deepEqual(failed('Parent directory does not exist'), [])
  const shell = (exitCode: number) =>
    complete({ success: true, shellExecution: { exitCode }, result: { content: 'made.txt: Read-only file system' } })
  t.deepEqual(shell(1), [{ kind: 'denied', what: 'made.txt: Read-only file system' }])
  t.deepEqual(shell(0), [])
})

test('records of other shapes say nothing', t => {
  const shapes = [null, 1, 'error', [], {}, { type: ['result'] }, { type: 'result' }, { type: 'session.error' }]
  for (const record of [...shapes, { type: 'tool.execution_complete', data: [] }, { type: 'model.call_start' }])
    t.notThrows(() => decode(record), JSON.stringify(record))
  t.deepEqual(decode({ type: 'model.call_start', data: null }), [{ kind: 'model', model: '' }])
  for (const record of shapes.slice(0, 6)) t.deepEqual(decode(record), [], JSON.stringify(record))
  for (const record of shapes) t.deepEqual(copilot.log?.decode(viewOf(record), inHome), [], JSON.stringify(record))
})
