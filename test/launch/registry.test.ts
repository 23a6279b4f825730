import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { newOwner } from '../../src/launch/hosting.ts'
import { launchHere, launchMissing } from '../../src/launch/launch.ts'
import { recover } from '../../src/launch/recover.ts'
import type { Owner } from '../../src/launch/registry.ts'
import type { State } from '../../src/launch/state.ts'
import { stopInstances } from '../../src/launch/stop.ts'
import { takeOver } from '../../src/launch/take-over.ts'
import { talk, talkWith } from '../../src/launch/talk.ts'
import { identify, thisProcess } from '../../src/process/identity.ts'
import type { ProcessId } from '../../src/process/process-id.ts'
import { httpStub, json, success } from '../client/stub.ts'
import { echo, left, makeWorld, right, scripted, until } from './world.ts'

const budgets = { instances: { worker: scripted(echo), other: scripted(echo) } }

const enter = async (state: State, process: ProcessId, url = 'http://127.0.0.1:9', name = 'worker'): Promise<Owner> => {
  const owner = { ...newOwner(), process }
  await right(state.registry.claim(owner, [{ name, engine: 'command' }]))
  await right(state.registry.publish(owner.owner, new Map([[name, url]])))
  return owner
}

const stranger = async (t: ExecutionContext) => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e6)'])
  await once(child, 'spawn')
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

test('REG-01: a pid that belongs to somebody else now is nobody: launched anew, and the stranger is left alone', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const child = await stranger(t)
  await enter(state, { ...identify(child.pid ?? 0), startTime: '1' })
  t.deepEqual(
    (await right(state.registry.list())).map(({ life }) => life),
    ['dead'],
  )

  const called = await talkWith(undefined)(state, { name: 'worker', prompt: 'hi' })()
  t.is(called.envelope.success || called.envelope.errorCode, 'instance_unavailable')

  const hosted = await right(launchHere(state, { only: ['worker'] }))
  t.is(hosted.instances.length, 1)
  await hosted.stop(0)
  t.deepEqual(await right(stopInstances(state, ['worker'], 1000)), { stopped: [], still: [], forgotten: [] })
  t.is(child.exitCode ?? child.signalCode, null)
})

test('`stop` drops the entry of a process that is gone, and signals nobody', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const child = await stranger(t)
  await enter(state, { ...identify(child.pid ?? 0), startTime: '1' })
  t.deepEqual((await right(stopInstances(state, [], 1000))).forgotten, ['worker'])
  t.deepEqual(await right(state.registry.list()), [])
  t.is(child.exitCode ?? child.signalCode, null)
})

test('a process of another boot is gone', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  await enter(state, { ...thisProcess(), bootId: 'another' })
  t.deepEqual((await right(recover(state))).length, 1)
  t.deepEqual(await right(state.registry.list()), [])
})

test('REG-09: of another pid namespace nobody here can judge: not talked to, not launched over, forgotten only by name', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const stub = await httpStub(json(200, success('taken')))
  t.teardown(stub.close)
  await enter(state, { ...thisProcess(), pidNamespace: 'pid:[1]' }, stub.url)

  const called = await talk(state, { name: 'worker', prompt: 'hi' })()
  t.is(called.envelope.success || called.envelope.errorCode, 'instance_unavailable')
  t.is(stub.connections(), 0)
  const [refused] = await left(launchHere(state, {}))
  t.regex(refused?.sentence ?? '', /another container or pid namespace.*errand stop worker/)
  t.deepEqual((await right(stopInstances(state, [], 100))).forgotten, [])
  t.deepEqual((await right(stopInstances(state, ['worker'], 100))).forgotten, ['worker'])
  t.deepEqual(await right(state.registry.list()), [])
})

test('a host that does not give its port free keeps the name; the sentence says what ends it', async t => {
  const stub = await httpStub(json(200, success('still here')))
  t.teardown(stub.close)
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo, { port: stub.port }) } })
  const child = await stranger(t)
  const owner = await enter(state, identify(child.pid ?? 0), stub.url)
  const [refused] = await left(takeOver(state, { portFreeMs: 100 }))
  t.is(
    refused?.sentence,
    `Process ${child.pid} has not given port ${stub.port} of worker free within 0.1 s, so it keeps it. ` +
      `If it is stuck, end it (kill -9 ${child.pid}) and try again: what it leaves open is settled then.`,
  )
  t.like((await right(state.registry.list()))[0], { name: 'worker', owner: owner.owner, url: stub.url })
  t.is((await talk(state, { name: 'worker', prompt: 'hi' })()).envelope.text, 'still here')
})

test('what cannot be launched is not taken over', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: { engine: './no-such.ts' } } })
  const owner = await enter(state, thisProcess())
  t.true((await left(takeOver(state, {}))).length > 0)
  t.is((await right(state.registry.list()))[0]?.owner, owner.owner)
})

test('REG-09: of another pid namespace nothing is taken over', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const owner = await enter(state, { ...thisProcess(), pidNamespace: 'pid:[1]' })
  const [refused] = await left(takeOver(state, {}))
  t.regex(refused?.sentence ?? '', /another container or pid namespace/)
  t.is((await right(state.registry.list()))[0]?.owner, owner.owner)
})

test('a claim is all or nothing, and names who stands in the way', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  await enter(state, thisProcess())
  const claims = [
    { name: 'other', engine: 'command' },
    { name: 'worker', engine: 'command' },
  ]
  const taken = await right(state.registry.claim(newOwner(), claims))
  t.deepEqual(
    taken.map(({ name }) => name),
    ['worker'],
  )
  t.deepEqual(
    (await right(state.registry.list())).map(({ name }) => name),
    ['worker'],
  )
})

test('many claim one name at once: one has it', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const claims = Array.from({ length: 20 }, () =>
    state.registry.claim(newOwner(), [{ name: 'worker', engine: 'command' }])(),
  )
  const won = (await Promise.all(claims)).filter(one => one._tag === 'Right' && one.right.length === 0)
  t.is(won.length, 1)
})

test('only a living owner is believed', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const alive = await enter(state, thisProcess())
  const gone = await enter(state, { ...thisProcess(), startTime: '1' }, 'http://127.0.0.1:9', 'other')
  t.true(await right(state.registry.ownerLives(alive.owner)))
  t.false(await right(state.registry.ownerLives(gone.owner)))
  t.false(await right(state.registry.ownerLives('nobody')))
})

test('what a dead host left is settled and ended before anything is launched', async t => {
  const world = await makeWorld(t)
  const state = await world.state({
    instances: { worker: scripted(echo, { budget: { usd: 1 }, maxTurnUsd: 0.25 }) },
  })
  const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e6)'], {
    detached: true,
    env: { PATH: process.env['PATH'], ERRAND_TURN: 'turn-1' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const exited = once(child, 'exit')
  const owner = await enter(state, { ...thisProcess(), startTime: '1' })
  await right(
    state.ledger.enter(
      {
        turn: 'turn-1',
        root: 'turn-1',
        instance: 'worker',
        from: 'operator',
        depth: 1,
        engine: 'command',
        owner: owner.owner,
        tokenDigest: 'd',
        limits: state.config.instances.get('worker')?.limits ?? {},
        maxTurnsPerRoot: 50,
      },
      true,
    ),
  )
  await right(state.ledger.started('turn-1', identify(child.pid ?? 0)))
  const report = path.join(state.config.stateFolder, 'reports', 'turn-1.jsonl')
  mkdirSync(path.dirname(report))
  writeFileSync(report, '')
  const turnFolder = path.join(path.dirname(report), 'turn-1')
  mkdirSync(turnFolder)
  writeFileSync(path.join(turnFolder, 'mcp.json'), '{}')

  const hosted = await right(launchMissing(state, ['worker'], {}))
  t.teardown(() => hosted?.stop(0))
  await exited
  t.false(existsSync(report))
  t.false(existsSync(turnFolder))
  t.deepEqual(await right(state.ledger.abandoned([owner.owner])), [])
  const reply = await talk(state, { name: 'worker', prompt: 'still money' })()
  t.is(reply.envelope.text, 'still money')
})

test('a host whose entry was taken away ends the instance by itself', async t => {
  const state = await (await makeWorld(t)).state(budgets)
  const hosted = await right(launchHere(state, { only: ['worker', 'other'] }))
  const [entry] = await right(state.registry.list())
  await right(state.registry.release(entry?.owner ?? '', ['worker']))
  await until(() => hosted.instances.length === 1)
  t.deepEqual(
    hosted.instances.map(({ name }) => name),
    ['other'],
  )
  await hosted.stop(0)
})
