import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import test, { type ExecutionContext } from 'ava'
import { isRunning, startTimeOf } from '../../src/process/identity.ts'
import { makeWorld, until, type World } from './world.ts'

const door = new URL('../../src/index.ts', import.meta.url).href
const sleeper =
  "require('fs').writeFileSync(process.argv[1], String(process.pid)); process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1e6)"

/** Runs a script in a process of its own, in the folder of the world. */
const start = async (
  world: World,
  body: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> => {
  const file = await world.write('script.ts', `import { launch } from ${JSON.stringify(door)}\n${body}\n`)
  return spawn(process.execPath, [file], {
    cwd: world.folder,
    env: { ...world.where.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

const run = async (t: ExecutionContext, world: World, body: string, environment?: Readonly<Record<string, string>>) => {
  const child = await start(world, body, environment)
  t.teardown(() => child.kill('SIGKILL'))
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', chunk => {
    text.stdout += chunk
  })
  child.stderr?.on('data', chunk => {
    text.stderr += chunk
  })
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...text }
}

const node = JSON.stringify(process.execPath)
const upper = `{ engine: 'command', command: [${node}, '-e', "process.stdin.on('data', d => process.stdout.write(String(d).toUpperCase()))"], peers: ['reviewer'], budget: { usd: 1 } }`

test('an object launches, one instance delegates to the other, failures are envelopes, and the script ends by itself', async t => {
  const world = await makeWorld(t)
  const { code, stdout, stderr } = await run(
    t,
    world,
    `const bus = await launch({ instances: {
       worker: ${upper},
       reviewer: { engine: 'command', command: ['sh', '-c', 'errand talk worker "$(cat)"'] },
     } })
     const by = async (...facts: Parameters<typeof bus.talk>) => {
       const reply = await bus.talk(...facts)
       console.log(reply.success ? reply.text.trim() : reply.errorCode)
     }
     console.log(bus.instances.map(({ name, url }) => name + (/^http:\\/\\/127\\.0\\.0\\.1:\\d+$/.test(url) ? ' listens' : url)).join(', '))
     await by('reviewer', 'hello')
     await by('worker', 'hello', { from: 'reviewer' })
     await by('worker', 'hello', { from: 'stranger' })
     await by('worker', 'hello', { from: 'reviewer', depth: 3 })
     await by('nobody', 'hello')
     await by('worker', '')
     await by('worker', 'hello', { signal: AbortSignal.abort() })
     await Promise.all([bus.stop(), bus.stop()])
     await by('worker', 'hello')`,
  )
  t.is(stderr, '')
  t.deepEqual(stdout.trim().split('\n'), [
    'reviewer listens, worker listens',
    'HELLO',
    'HELLO',
    'peer_not_allowed',
    'max_depth_exceeded',
    'invalid_request',
    'invalid_request',
    'cancelled',
    'instance_unavailable',
  ])
  t.is(code, 0)
})

test('`only`, a path, and what already runs elsewhere is used as it is', async t => {
  const world = await makeWorld(t)
  const instance = (program: string) => ({ engine: 'command', command: ['sh', '-c', program] })
  await world.config({ instances: { a: instance('echo $PPID'), b: instance('echo $PPID') } })
  const { stdout, stderr } = await run(
    t,
    world,
    `const first = await launch('budgets.json', { only: ['a'] })
     const second = await launch('budgets.json')
     console.log(second.instances.map(({ name }) => name).join(' '))
     const before = await second.talk('a', 'x')
     await first.stop()
     const after = await second.talk('a', 'x')
     console.log(before.success, after.success)
     const unknown = await first.talk('b', 'x')
     console.log(unknown.success)
     await second.stop()`,
  )
  t.is(stderr, '')
  t.deepEqual(stdout.trim().split('\n'), ['a b', 'true true', 'false'])
})

test('it rejects with everything that is wrong, and nothing was started', async t => {
  const world = await makeWorld(t)
  const { stdout, code } = await run(
    t,
    world,
    `for (const config of ['none.json', { instances: { A: { engine: 'x' }, b: { engine: 'command', budget: { usd: -1 } } } }, { instances: { c: { engine: 'nope' } } }, null, 7]) {
       await launch(config as never).catch(error => console.log(error.message))
     }
     await launch({ instances: { c: { engine: 'command', command: ['true'] } } }, { only: ['d'] }).catch(error => console.log(error.message))`,
  )
  t.is(code, 0)
  for (const expected of [
    /none\.json cannot be read/,
    /the config object: instances\.A must be a name/,
    /the config object: instances\.b\.budget\.usd must be/,
    /instances\.c: There is no engine "nope"/,
    /the config object: it must be an object, not null/,
    /the config object: it must be an object, not 7/,
    /no instance "d"/,
  ]) {
    t.regex(stdout, expected)
  }
})

test('a talk that cannot be sent is an envelope too, and `undefined` is left out', async t => {
  const world = await makeWorld(t)
  const { stdout, stderr } = await run(
    t,
    world,
    `const bus = await launch({ instances: { a: { ...${upper}, model: undefined } } } as never)
     const say = async (name: unknown, options: unknown) => {
       const reply = await bus.talk(name as never, 'hi', options as never)
       console.log(reply.success ? reply.text : reply.errorCode + ' ' + reply.error)
     }
     for (const timeoutMs of [-1, 0, NaN, Infinity, 2 ** 31, '5', null]) await say('a', { timeoutMs })
     await say('a', { retry: 0.5, signal: {} })
     await say({}, {})
     await say('a', null)
     await say('a', { timeoutMs: 60000.5, retry: undefined, signal: undefined, from: undefined, depth: undefined })
     await bus.stop()`,
  )
  const lines = stdout.trim().split('\n')
  t.is(stderr, '')
  t.is(lines.length, 11)
  for (const line of lines.slice(0, 7)) t.regex(line, /^invalid_request .*options\.timeoutMs must be a number of milli/)
  t.regex(lines[7] ?? '', /options\.retry must be .*; options\.signal must be an AbortSignal/)
  t.regex(lines[8] ?? '', /name must be the name of an instance/)
  t.regex(lines[9] ?? '', /options must be an object/)
  t.is(lines[10], 'HI')
})

test('inside a turn it launches nothing', async t => {
  const world = await makeWorld(t)
  const { stdout } = await run(t, world, `await launch('budgets.json').catch(error => console.log(error.message))`, {
    ERRAND_TURN: 'abc',
    ERRAND_TOKEN: 'x',
  })
  t.is(stdout.trim(), 'This runs inside turn abc: a turn launches nothing. Use `errand talk`.')
})

for (const [how, end, signalExpected] of [
  ['SIGINT', (child: ChildProcess) => child.kill('SIGINT'), 'SIGINT'],
  ['SIGTERM', (child: ChildProcess) => child.kill('SIGTERM'), 'SIGTERM'],
  ['process.exit()', (child: ChildProcess) => child.kill('SIGUSR2'), null],
] as const) {
  test(`${how} in the middle of a turn leaves nothing running`, async t => {
    const world = await makeWorld(t)
    const child = await start(
      world,
      `process.on('SIGUSR2', () => process.exit(3))
       const bus = await launch({ instances: { stubborn: { engine: 'command', command: [${node}, '-e', ${JSON.stringify(sleeper)}, 'pid'] } } })
       await bus.talk('stubborn', 'x')`,
    )
    t.teardown(() => child.kill('SIGKILL'))
    const pidFile = `${world.folder}/pid`
    const read = () => readFile(pidFile, 'utf8').catch(() => '')
    await until(async () => (await read()) !== '')
    const pid = Number(await read())
    const turn = { pid, startTime: startTimeOf(pid) ?? '' }
    const exited = once(child, 'exit')
    end(child)
    const [, signal] = await exited
    t.is(signal, signalExpected)
    await until(() => !isRunning(turn))
    t.pass()
  })
}

test('listeners of the script itself decide about its end', async t => {
  const world = await makeWorld(t)
  const { code, stdout } = await run(
    t,
    world,
    `const bus = await launch({ instances: { worker: ${upper} } })
     process.once('SIGTERM', async () => {
       await bus.stop()
       console.log('ended by myself')
       process.exitCode = 4
     })
     process.kill(process.pid, 'SIGTERM')`,
  )
  t.is(stdout.trim(), 'ended by myself')
  t.is(code, 4)
})

test('a script follows its talk, and what its listener throws is its own', async t => {
  const world = await makeWorld(t)
  const { stdout } = await run(
    t,
    world,
    `process.on('uncaughtException', error => console.log('thrown', error.message))
     const bus = await launch({ instances: { worker: ${upper} } })
     const reply = await bus.talk('worker', 'hello', {
       onProgress: event => {
         console.log(event.id, event.kind, event.kind === 'text' ? event.text : '')
         if (event.kind === 'started') throw new Error('mine')
       },
     })
     console.log(reply.success && reply.text, reply.capabilities.join(' '))
     const wrong = await bus.talk('worker', 'hello', { onProgress: 'no function' as never })
     console.log(!wrong.success && wrong.error)
     await bus.stop()`,
  )
  t.deepEqual(stdout.trim().split('\n'), [
    '1 accepted ',
    '2 started ',
    'thrown mine',
    '3 text HELLO',
    'HELLO structured-errors retryable-errors',
    'The talk cannot be sent: options.onProgress must be a function, not "no function".',
  ])
})
