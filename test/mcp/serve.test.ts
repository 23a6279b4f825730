import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { turnRecords } from '../../src/budget/turns.ts'
import { lives } from '../cli/errand.ts'
import { echo, makeWorld, right, scripted, until } from '../launch/world.ts'
import { connectMcp } from './client.ts'

/** Says who it is and that it looks, and answers with the prompt when there is a file `go`. */
const waits = `
  const fs = require('node:fs')
  process.stdin.resume()
  fs.writeFileSync('pid.new', String(process.pid))
  fs.renameSync('pid.new', 'pid')
  process.stdout.write('I look. ')
  const at = setInterval(() => {
    if (!fs.existsSync('go')) return
    clearInterval(at)
    process.stdout.write('I found it.')
  }, 20)`

const patient = { beatMs: 60_000, patienceMs: 60_000 }

test('what an agent is told stays small, however many there are', async t => {
  const description = 'Reads what others wrote, line by line, and says what is wrong with it. '.repeat(5)
  const names = Array.from({ length: 60 }, (_, n) => `${'reviewer'.repeat(7)}-${n}`)
  const state = await (await makeWorld(t)).state({
    instances: Object.fromEntries(names.map(name => [name, scripted(echo, { description })])),
  })
  const { client } = await connectMcp(t, state, patient)
  const { tools } = await client.listTools()
  const told = { serverInfo: client.getServerVersion(), instructions: client.getInstructions(), tools }
  t.true(tools.length <= 5)
  t.true(JSON.stringify(told).length < 2000, `${JSON.stringify(told).length} characters`)
  t.regex(client.getInstructions() ?? '', /reviewer-0 \(Reads what.*and 5\d more/)
})

test('it lists whom one may ask, asks, and tells failures with their code and whether to try again', async t => {
  const state = await (await makeWorld(t)).state({
    budget: { usd: 5, per: 'day' },
    instances: {
      worker: scripted(echo, { description: 'does work', budget: { usd: 1, turns: 3 } }),
      broke: scripted(echo, { budget: { usd: 0 } }),
      dies: scripted('process.kill(process.pid, "SIGKILL")'),
      mute: scripted("console.error('429 rate limit, try again in 1s'); process.exitCode = 1"),
      off: scripted(echo, { enabled: false }),
    },
  })
  const { call } = await connectMcp(t, state, patient)
  const before = await call('instances')
  t.regex(
    before.text,
    /^worker \(command\): does work \[does not run yet.*; \$1\.0000 of \$1\.00, 3 of 3 turns left\]$/m,
  )
  t.regex(before.text, /^all together: \$5\.0000 of \$5\.00 left \(day\)$/m)
  t.notRegex(before.text, /^off/m)
  t.deepEqual(await call('delegate', { name: 'worker', prompt: ' as it is' }), {
    text: ' as it is',
    isError: false,
  })
  t.regex((await call('instances')).text, /^worker .*\[runs; .*2 of 3 turns left\]$/m)
  const refused = async (name: string) => {
    const { text, isError } = await call('delegate', { name, prompt: 'hi' })
    t.true(isError)
    return text
  }
  t.regex(
    await refused('wroker'),
    /^invalid_request: .*budgets\.json has no instance "wroker".*worker.* will not help\.$/,
  )
  t.regex(await refused('off'), /^bus_disabled: .* will not help\.$/)
  t.regex(await refused('broke'), /^budget_exhausted: Budget exhausted: .* will not help\.$/)
  t.regex(await refused('mute'), /^rate_limited: .* try again in 1s\. Trying again in 1 s may help\.$/)
  t.regex(await refused('dies'), /^engine_cli: .* Trying again may help\.$/)
  t.regex((await call('delegate_later', { name: 'broke', prompt: 'hi' })).text, /^budget_exhausted: /)
})

test('arguments of the wrong shape are told, and break nothing', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const { call } = await connectMcp(t, state, patient)
  const wrong = [
    ['delegate', {}, /name must be a string that is not empty, not missing; prompt must/],
    ['delegate', { name: 'worker', prompt: 7 }, /prompt must be a string that is not empty, not 7/],
    [
      'delegate_later',
      { name: ['worker'], prompt: ' ' },
      /name must .* not a list; prompt must .* not an empty string/,
    ],
    ['collect', { id: null }, /id must be .* not null/],
    ['collect', { id: 'worker-1', wait: 'long' }, /wait must be a number of seconds/],
    ['collect', { id: 'worker-1' }, /There is no errand "worker-1"\. Nothing is running\./],
    ['cancel', { id: 'worker-1' }, /There is no errand "worker-1"/],
    ['delegate', { name: 'worker', prompt: 'hi', thread: 'a b' }, /^invalid_request: .*thread must be a name/],
    ['talk', {}, /There is no tool "talk": instances, delegate, /],
  ] as const
  for (const [tool, args, says] of wrong) {
    const { text, isError } = await call(tool, args)
    t.true(isError, tool)
    t.regex(text, says)
  }
  t.is((await call('delegate', { name: 'worker', prompt: 'still here' })).text, 'still here')
})

test('beats keep a call alive past the time limit of its client', async t => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: scripted(waits) } })
  const { call } = await connectMcp(t, state, { beatMs: 100, patienceMs: 1 })
  const told: string[] = []
  const timeout = 2000
  const startedAt = performance.now()
  const answered = call(
    'delegate',
    { name: 'worker', prompt: 'hi' },
    { timeout, resetTimeoutOnProgress: true, onprogress: ({ message = '' }) => void told.push(message) },
  )
  await until(
    () => performance.now() - startedAt > 2 * timeout && told.some(message => message.includes('says: I look.')),
  )
  writeFileSync(path.join(world.folder, 'go'), '')
  t.deepEqual(await answered, { text: 'I look. I found it.', isError: false })
  t.regex(told.join('\n'), /worker works, \d+ s \(turn [0-9a-f]+\), says: I look\.$/m)
})

test('a client that asks for no progress gets an id before its patience ends, and collects by it', async t => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: scripted(waits) } })
  const { call } = await connectMcp(t, state, { beatMs: 60_000, patienceMs: 200 })
  const first = await call('delegate', { name: 'worker', prompt: 'hi' })
  t.false(first.isError)
  t.regex(first.text, /^Still running: worker .* Its id: worker-1$/)
  t.regex((await call('collect', { id: 'worker-1', wait: 0 })).text, /^Still running: /)
  await until(async () => (await call('collect', { id: 'worker-1' })).text.includes('says: I look.'))
  writeFileSync(path.join(world.folder, 'go'), '')
  await until(async () => !(await call('collect', { id: 'worker-1' })).text.startsWith('Still running'))
  t.is((await call('collect', { id: 'worker-1', wait: 0 })).text, 'I look. I found it.')
  t.regex((await call('cancel', { id: 'worker-1' })).text, /was over already/)
})

test('later is at once, several go on side by side, and one of them can be cancelled', async t => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: scripted(waits), quick: scripted(echo) } })
  const { call } = await connectMcp(t, state, patient)
  t.regex((await call('delegate_later', { name: 'worker', prompt: 'a' })).text, /by the id: worker-1$/)
  t.regex((await call('delegate_later', { name: 'quick', prompt: 'b' })).text, /by the id: quick-2$/)
  t.is((await call('collect', { id: 'quick-2' })).text, 'b')
  await until(() => existsSync(path.join(world.folder, 'pid')))
  t.regex((await call('cancel', { id: 'worker-1' })).text, /^Cancelled worker-1\. Until then: worker /)
  t.regex((await call('collect', { id: 'worker-1' })).text, /^cancelled: /)
  await until(async () => (await right(turnRecords(state.store, { limit: 10 }))).every(({ state }) => state === 'done'))
  const records = await right(turnRecords(state.store, { limit: 10 }))
  t.deepEqual(records.map(({ instance, outcome }) => `${instance} ${outcome}`).sort(), [
    'quick success',
    'worker cancelled',
  ])
})

test('a call that its client takes back ends the turn; one that only collects does not', async t => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: scripted(waits, { concurrency: 2 }) } })
  const { call } = await connectMcp(t, state, patient)
  await call('delegate_later', { name: 'worker', prompt: 'stays' })
  const [collecting, delegating] = [new AbortController(), new AbortController()]
  const calls = [
    call('collect', { id: 'worker-1' }, { signal: collecting.signal }),
    call('delegate', { name: 'worker', prompt: 'goes' }, { signal: delegating.signal }),
  ]
  const states = async () => (await right(turnRecords(state.store, { limit: 10 }))).map(({ state }) => state)
  await until(async () => (await states()).join() === 'running,running')
  collecting.abort()
  delegating.abort()
  for (const one of calls) await t.throwsAsync(one)
  await until(async () => (await states()).sort().join() === 'done,running')
  writeFileSync(path.join(world.folder, 'go'), '')
  t.is((await call('collect', { id: 'worker-1' })).text, 'I look. I found it.')
})

test('when the client is gone, so is all that it left open', async t => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: scripted(waits) } })
  const { call, hangUp, served } = await connectMcp(t, state, patient)
  await call('delegate_later', { name: 'worker', prompt: 'hi' })
  await until(() => existsSync(path.join(world.folder, 'pid')))
  hangUp()
  await served
  await until(async () =>
    (await right(turnRecords(state.store, { limit: 10 }))).every(({ outcome }) => outcome === 'cancelled'),
  )
  await until(() => !lives(Number(readFileSync(path.join(world.folder, 'pid'), 'utf8'))))
  t.pass()
})
