import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { errand, lives, type Place, placeOf, shell, start, startUp, stateFile, until } from '../cli/errand.ts'
import { startMcp } from './client.ts'

const agent = fileURLToPath(new URL('agent.mjs', import.meta.url))

/** An engine whose agent speaks MCP, as a file beside budgets.json; its CLI prints what the tools said, a JSON list. */
const engine = `export default {
  name: 'agent', cli: ${JSON.stringify(process.execPath)}, output: 'text', takesMcp: true,
  command: ({ cli: [file], prompt, mcp }) => mcp === undefined
    ? { file, args: ['-e', 'console.log(JSON.stringify(["nothing was handed over"]))'], stdin: '' }
    : { file, args: [${JSON.stringify(agent)}, mcp.command, JSON.stringify(mcp.args), JSON.stringify(mcp.env)], stdin: prompt },
  decode: () => [],
  classify: () => ({ code: 'engine_cli', sentence: '' }),
}`

const agentPlace = (t: Parameters<typeof placeOf>[0], instances: Readonly<Record<string, object>>): Place => {
  const place = placeOf(t, { reviewer: { engine: './agent.mjs' }, ...instances })
  place.write('agent.mjs', engine)
  return place
}

const does = async (place: Place, ...calls: readonly unknown[]): Promise<readonly string[]> => {
  const { stdout } = await errand(place, ['talk', 'reviewer'], { input: JSON.stringify(calls) })
  return JSON.parse(stdout)
}

const listed = async (place: Place) =>
  JSON.parse((await errand(place, ['log', '--json'])).stdout).map(
    ({ instance, from, depth, outcome }: Record<string, unknown>) => `${from} -> ${instance} ${depth} ${outcome}`,
  )

test('inside a turn it speaks as the turn, one deeper, to those who listen', async t => {
  const place = agentPlace(t, {
    worker: shell('cat', { peers: ['reviewer'], description: 'does work' }),
    other: shell('cat', { peers: ['worker'] }),
    deep: shell('cat', { peers: ['*'], maxDepth: 1 }),
  })
  const [who, instances, answered, denied, tooDeep, unknown, itself] = await does(
    place,
    ['instances'],
    ['delegate', { name: 'worker', prompt: 'over to you' }],
    ['delegate', { name: 'other', prompt: 'over to you' }],
    ['delegate', { name: 'deep', prompt: 'over to you' }],
    ['delegate', { name: 'nobody', prompt: 'over to you' }],
    ['delegate', { name: 'reviewer', prompt: 'over to you' }],
  )
  t.regex(who ?? '', /^You are "reviewer", .* You may ask: worker \(does work\)\. .* costs money\.$/)
  t.is(instances, 'worker (command): does work [runs; no limit of its own]')
  t.is(answered, 'over to you')
  t.regex(denied ?? '', /^ERROR peer_not_allowed: .*other.*budgets\.json.* will not help\.$/)
  t.regex(tooDeep ?? '', /^ERROR max_depth_exceeded: .*deep.*budgets\.json/)
  t.regex(unknown ?? '', /^ERROR invalid_request: .*budgets\.json has no instance "nobody"/)
  t.regex(itself ?? '', /^ERROR peer_not_allowed: /)
  t.deepEqual(await listed(place), ['reviewer -> worker 2 success', 'operator -> reviewer 1 success'])
})

test('inside a turn nothing is launched', async t => {
  const place = agentPlace(t, { worker: shell('cat', { peers: ['reviewer'] }) })
  await startUp(t, place, 'reviewer')
  const calls = [['instances'], ['delegate', { name: 'worker', prompt: 'hi' }]]
  const [{ url }] = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  // Past the command line, which would launch the worker as well.
  const answered = await fetch(`${url}/api/talk`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${readFileSync(stateFile(place, 'secret'), 'utf8').trim()}`,
    },
    body: JSON.stringify({ fromInstance: 'operator', prompt: JSON.stringify(calls), depth: 1 }),
  })
  const { text } = JSON.parse(await answered.text())
  const [, instances, refused] = JSON.parse(text)
  t.regex(instances, /does not run, cannot be asked now/)
  t.regex(refused, /^ERROR instance_unavailable: .*errand up worker/)
})

test('nothing is handed over to whom nobody listens, or who shall not delegate', async t => {
  const nothing = ['nothing was handed over']
  t.deepEqual(await does(agentPlace(t, { worker: shell('cat', { peers: ['other'] }) }), ['instances']), nothing)
  t.deepEqual(
    await does(agentPlace(t, { worker: shell('cat', { peers: ['*'], enabled: false }) }), ['instances']),
    nothing,
  )
  t.deepEqual(
    await does(agentPlace(t, { worker: shell('cat', { peers: ['*'], maxDepth: 1 }) }), ['instances']),
    nothing,
  )
  const silent = { reviewer: { engine: './agent.mjs', delegates: false }, worker: shell('cat', { peers: ['*'] }) }
  t.deepEqual(await does(agentPlace(t, silent), ['instances']), nothing)
})

test('a CLI without MCP is told by the paragraph, unless it takes its prompt as it is', async t => {
  const place = placeOf(t, {
    plain: shell('cat'),
    reviewer: { engine: './told.mjs', instructions: 'notes.md' },
    worker: shell('cat', { peers: ['*'] }),
  })
  place.write('notes.md', 'Be brief.')
  place.write(
    'told.mjs',
    `export default { name: 'told', cli: 'cat', output: 'text', instructions: 'prompt', decode: () => [],
      command: ({ cli: [file], prompt }) => ({ file, args: [], stdin: prompt }),
      classify: () => ({ code: 'engine_cli', sentence: '' }) }`,
  )
  const told = (await errand(place, ['talk', 'reviewer', 'hi'])).stdout
  t.regex(
    told,
    /^<instructions>\nYou are "reviewer", .*`errand talk NAME "what to do"`.*\n\nBe brief\.\n<\/instructions>\n\nhi\n$/,
  )
  t.is((await errand(place, ['talk', 'plain', 'hi'])).stdout, 'hi\n')
})

test('a token whose turn is over speaks for nobody, and that is said at once', async t => {
  const place = placeOf(t, { worker: shell('cat', { peers: ['*'] }) })
  await startUp(t, place)
  const { client, call } = await startMcp(t, place.folder, {
    ...place.environment,
    ...{ ERRAND_TURN: 'f'.repeat(16), ERRAND_TOKEN: 'gone', ERRAND_CONFIG: path.join(place.folder, 'budgets.json') },
  })
  t.regex(client.getInstructions() ?? '', /has ended/)
  for (const [tool, args] of [
    ['instances', {}],
    ['delegate', { name: 'worker', prompt: 'hi' }],
    ['delegate_later', { name: 'worker', prompt: 'hi' }],
  ] as const) {
    const { text, isError } = await call(tool, args)
    t.true(isError)
    t.regex(text, /^auth_failed: .* has ended.* will not help\.$/)
  }
})

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('the token stands on no command line and in no file', async t => {
  const place = agentPlace(t, { worker: shell('cat', { peers: ['reviewer'] }) })
  const talking = start(place, ['talk', 'reviewer'], {
    input: JSON.stringify([['delegate', { name: 'worker', prompt: 'hi' }], 'pause']),
  })
  await until('the agent pauses', () => existsSync(path.join(place.folder, 'paused')))
  const read = (file: string): string => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const ours = pids.filter(pid => read(`/proc/${pid}/environ`).includes(`ERRAND_CONFIG=${place.folder}/budgets.json`))
  const tokens = ours.map(pid => /(?:^|\0)ERRAND_TOKEN=([^\0]+)/.exec(read(`/proc/${pid}/environ`))?.[1])
  // The agent and its server.
  t.true(ours.length >= 2)
  t.is(new Set(tokens).size, 1)
  const [token = ''] = tokens
  t.true(token.length > 20)
  for (const pid of pids) t.false(read(`/proc/${pid}/cmdline`).includes(token))
  const files = readdirSync(path.dirname(place.folder), { recursive: true, encoding: 'utf8' })
  for (const file of files) t.false(read(path.join(path.dirname(place.folder), file)).includes(token), file)
  writeFileSync(path.join(place.folder, 'go'), '')
  t.is((await talking.ended).status, 0)
})

for (const how of ['SIGTERM', 'a closed stdin'] as const) {
  test(`${how} ends it at once, with what it launched and all that it had delegated; stdout is MCP alone`, async t => {
    const place = placeOf(t, { worker: shell('echo $$ > pid.new; mv pid.new pid; sleep 600') })
    const running = start(place, ['mcp'], { open: true })
    const say = (message: object) => running.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    running.child.stdin?.write('this is no MCP\n')
    const clientInfo = { name: 'test', version: '1' }
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
    say({ method: 'notifications/initialized' })
    const params = { name: 'delegate', arguments: { name: 'worker', prompt: 'hi' }, _meta: { progressToken: 7 } }
    say({ id: 2, method: 'tools/call', params })
    await until('the worker runs', () => existsSync(path.join(place.folder, 'pid')))
    if (how === 'SIGTERM') running.child.kill('SIGTERM')
    else running.child.stdin?.end()
    const { status, stdout } = await running.ended
    t.is(status, 0)
    for (const line of stdout.trimEnd().split('\n')) t.is(JSON.parse(line).jsonrpc, '2.0', line)
    t.false(lives(Number(place.read('pid'))))
    t.deepEqual(await listed(place), ['operator -> worker 1 cancelled'])
    t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
  })
}
