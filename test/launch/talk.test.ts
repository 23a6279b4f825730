import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import * as io from 'io-ts/lib/index.js'
import { tokenDigestOf } from '../../src/bus/identity.ts'
import { delegate } from '../../src/client/delegate.ts'
import { reachOf } from '../../src/config/reach.ts'
import type { Hosted } from '../../src/launch/hosted.ts'
import { launchMissing } from '../../src/launch/launch.ts'
import { resolve } from '../../src/launch/resolve.ts'
import { speakerOf } from '../../src/launch/speaker.ts'
import { openState, type State } from '../../src/launch/state.ts'
import { stopInstances } from '../../src/launch/stop.ts'
import { type Ask, type TalkEvent, talk } from '../../src/launch/talk.ts'
import { freePort } from '../client/stub.ts'
import { echo, errandScript, left, makeWorld, right, scripted, until, type World } from './world.ts'

/** Asks the worker from inside its own turn, and answers with what that said. */
const asksWorker = { engine: 'command', command: ['sh', '-c', 'printf "reviewed: "; exec errand talk worker "$(cat)"'] }
const pair = { instances: { reviewer: asksWorker, worker: scripted(echo, { peers: ['reviewer'] }) } }

/** As a second process would have it: another connection to the same state folder. */
const again = async (t: ExecutionContext, state: State): Promise<State> => {
  const other = await right(openState(state.config, state.where))
  t.teardown(other.close)
  return other
}

const code = async (state: State, ask: Ask): Promise<string> => {
  const { envelope } = await talk(state, ask)()
  return envelope.success ? 'success' : envelope.errorCode
}

test('a person launches whom the talk could reach; all of it ends with the talk', async t => {
  const state = await (await makeWorld(t)).state(pair)
  const events: TalkEvent[] = []
  const reply = await talk(state, { name: 'reviewer', prompt: 'this', onEvent: event => events.push(event) })()
  t.is(reply.envelope.text.trim(), 'reviewed: this')
  t.deepEqual(events[0], { kind: 'launched', instances: ['reviewer', 'worker'] })
  const [worker, reviewer] = (await right(turns(state))).toSorted((a, b) => b.depth - a.depth)
  t.like(worker, { instance: 'worker', sender: 'reviewer', depth: 2 })
  t.like(reviewer, { instance: 'reviewer', sender: 'operator', depth: 1 })
  const other = await again(t, state)
  await state.close()
  t.deepEqual(await right(other.registry.list()), [])
})

test('whom a talk could reach is read backwards from the peers', t => {
  const instance = (name: string, peers: readonly string[], enabled = true) => [name, { name, peers, enabled }] as const
  const instances = new Map([
    instance('a', []),
    instance('b', ['a']),
    instance('c', ['b']),
    instance('d', ['a'], false),
    instance('e', ['d']),
    instance('f', ['*']),
    instance('g', ['x']),
  ])
  const config = { instances }
  t.deepEqual(reachOf(config, 'a'), ['a', 'b', 'f', 'c'])
})

test('what the target would refuse is refused before anything is launched', async t => {
  const state = await (await makeWorld(t)).state({
    bus: { bodyLimit: 2000 },
    instances: {
      worker: scripted(echo, { peers: ['reviewer'], maxDepth: 2 }),
      off: scripted(echo, { enabled: false }),
      reviewer: scripted(echo),
    },
  })
  t.is(await code(state, { name: 'worker', prompt: 'x', from: 'stranger' }), 'peer_not_allowed')
  t.is(await code(state, { name: 'worker', prompt: 'x', from: 'constructor' }), 'peer_not_allowed')
  t.is(await code(state, { name: 'worker', prompt: 'x', from: 'worker' }), 'peer_not_allowed')
  t.is(await code(state, { name: 'worker', prompt: 'x', from: 'reviewer', depth: 2 }), 'max_depth_exceeded')
  t.is(await code(state, { name: 'off', prompt: 'x' }), 'bus_disabled')
  t.is(await code(state, { name: 'nobody', prompt: 'x' }), 'invalid_request')
  t.is(await code(state, { name: '__proto__', prompt: 'x' }), 'invalid_request')
  t.is(await code(state, { name: 'worker', prompt: ' \n' }), 'invalid_request')
  t.is(await code(state, { name: 'worker', prompt: 'a\0b' }), 'invalid_request')
  t.is(await code(state, { name: 'worker', prompt: 'x', depth: -2 }), 'invalid_request')
  t.is(await code(state, { name: 'worker', prompt: 'x', from: ' ' }), 'invalid_request')
  t.is(await code(state, { name: 'worker', prompt: 'é'.repeat(1100) }), 'request_too_large')
  t.deepEqual(await right(state.registry.list()), [])
  t.is(await code(state, { name: 'worker', prompt: 'x', from: 'reviewer', depth: 1 }), 'success')
})

test('a host takes over what it relied on when the other host goes away', async t => {
  const first = await (await makeWorld(t)).state({
    instances: { a: scripted(echo), b: scripted(echo, { peers: ['a'] }) },
  })
  const second = await again(t, first)
  const theirs = await right(launchMissing(first, ['b'], {}))
  const ours = await right(launchMissing(second, ['a', 'b'], {}))
  t.deepEqual(
    ours?.instances.map(({ name }) => name),
    ['a'],
  )
  await theirs?.stop(0)
  await until(() => ours?.instances.length === 2)
  const reply = await talk(first, { name: 'b', prompt: 'still here' })()
  t.is(reply.envelope.text, 'still here')
  await ours?.stop(0)
})

test('a host that goes leaves nothing behind of what it takes over just then', async t => {
  const first = await (await makeWorld(t)).state({
    instances: { a: scripted(echo), b: scripted(echo, { peers: ['a'] }) },
  })
  const second = await again(t, first)
  const theirs = await right(launchMissing(first, ['b'], {}))
  const ours = await right(launchMissing(second, ['a', 'b'], {}))
  await Promise.all([theirs?.stop(0), ours?.stopWhenIdle()])
  t.deepEqual(ours?.instances, [])
  await ours?.stopped
  t.deepEqual(await right(first.registry.list()), [])
})

test('what another claims just before the launch is used, its port too', async t => {
  const port = await freePort()
  const first = await (await makeWorld(t)).state({ instances: { a: scripted(echo, { port }) } })
  const second = await again(t, first)
  const theirs: (Hosted | undefined)[] = []
  const list: typeof second.registry.list = () => async () => {
    const before = await second.registry.list()()
    if (theirs.length === 0) theirs.push(await right(launchMissing(first, ['a'], {})))
    return before
  }
  t.is(await right(launchMissing({ ...second, registry: { ...second.registry, list } }, ['a'], {})), undefined)
  t.is(theirs[0]?.instances.length, 1)
  await theirs[0]?.stop(0)
})

test('what a person stopped is not taken over', async t => {
  const first = await (await makeWorld(t)).state({
    instances: { a: scripted(echo), b: scripted(echo, { peers: ['a'] }) },
  })
  const second = await again(t, first)
  await right(launchMissing(first, ['b'], {}))
  const ours = await right(launchMissing(second, ['a', 'b'], {}))
  t.deepEqual((await right(stopInstances(second, ['b'], 20_000))).stopped, ['b'])
  // A host looks every 200 ms: five looks, and nothing comes of them.
  const sinceMs = performance.now()
  await until(() => performance.now() - sinceMs > 1000)
  t.deepEqual(
    ours?.instances.map(({ name }) => name),
    ['a'],
  )
  const again2 = await right(launchMissing(first, ['b'], {}))
  t.deepEqual(
    again2?.instances.map(({ name }) => name),
    ['b'],
  )
  await Promise.all([ours?.stop(0), again2?.stop(0)])
})

test('a host that a talk started waits for the talks of others', async t => {
  const slow = scripted(
    "process.stdin.on('data', () => undefined).on('end', () => setTimeout(() => console.log('done'), 500))",
  )
  const first = await (await makeWorld(t)).state({
    instances: { quick: scripted(echo, { peers: [] }), slow: { ...slow, peers: ['quick'] } },
  })
  const second = await again(t, first)
  await talk(first, { name: 'quick', prompt: 'hi' })()
  const others = talk(second, { name: 'slow', prompt: 'hi' })()
  await until(async () =>
    (await right(turns(first))).some(({ instance, state }) => instance === 'slow' && state === 'running'),
  )
  await first.close()
  t.is((await others).envelope.text.trim(), 'done')
})

test('who had found the address of a host that is about to go is still answered', async t => {
  const first = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const second = await again(t, first)
  await talk(first, { name: 'worker', prompt: 'hi' })()
  const target = await right(resolve(second, 'worker', { absentMs: 0 }))
  const closing = first.close()
  await until(async () => (await right(second.registry.list()))[0]?.url === undefined)
  const latecomer = { fromInstance: 'operator', prompt: 'late', depth: 0 }
  const reply = await delegate(target, latecomer, { bearer: second.secret }, { now: Date.now })()
  t.true(reply.envelope.text === 'late' || reply.gone, JSON.stringify(reply.envelope))
  await closing
})

test('who gives up does not wait for the talks of others', async t => {
  const endless = scripted('setInterval(() => undefined, 1e6)')
  const first = await (await makeWorld(t)).state({ instances: { a: endless, b: { ...endless, peers: ['a'] } } })
  const second = await again(t, first)
  const person = new AbortController()
  const own = talk(first, { name: 'a', prompt: 'hi', signal: person.signal })()
  await until(async () => (await right(turns(second))).some(({ state }) => state === 'running'))
  const others = talk(second, { name: 'b', prompt: 'hi' })()
  await until(async () => (await right(turns(second))).filter(({ state }) => state === 'running').length === 2)
  person.abort()
  const given = await own
  t.is(given.envelope.success || given.envelope.errorCode, 'cancelled')
  await first.close()
  const theirs = await others
  t.is(theirs.envelope.success || theirs.envelope.errorCode, 'cancelled')
})

test('the time limit is for all of the call', async t => {
  const state = await (await makeWorld(t)).state({
    instances: { worker: scripted('setInterval(() => undefined, 1e6)') },
  })
  const reply = await talk(state, { name: 'worker', prompt: 'x', timeoutMs: 600, retry: 5 })()
  t.is(reply.envelope.success || reply.envelope.errorCode, 'timeout')
  const short = await talk(state, { name: 'worker', prompt: 'x', timeoutMs: 1500 })()
  t.is(
    short.envelope.success || short.envelope.error,
    "worker did not answer within 1.5 s, its caller's limit; the talk was ended.",
  )
})

test('inside a turn only its token speaks: as that instance, at that depth', async t => {
  const { ledger } = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const inside = { mark: 'm', token: 'token', configFile: undefined }
  const entry = { turn: 'm', root: 'm', instance: 'worker', from: 'operator', depth: 2, engine: 'command', owner: 'o' }
  const limits = { tokenDigest: tokenDigestOf('token'), limits: {}, maxTurnsPerRoot: 9 }
  await right(ledger.enter({ ...entry, ...limits }, true))
  const facts = { inside, secret: undefined, ledger }
  t.deepEqual(await right(speakerOf(facts, {})), { fromInstance: 'worker', depth: 2, bearer: 'token' })
  t.is((await left(speakerOf(facts, { from: 'operator' }))).code, 'peer_not_allowed')
  t.is((await left(speakerOf(facts, { depth: 0 }))).code, 'invalid_request')
  await right(ledger.ending('m'))
  t.is((await left(speakerOf(facts, {}))).code, 'auth_failed')
  t.is((await left(speakerOf({ ...facts, inside: { ...inside, token: undefined } }, {}))).code, 'auth_failed')
})

test('several people at once, each in a process of their own: every talk gets its answer', async t => {
  const world = await makeWorld(t)
  await world.config({
    instances: { reviewer: { ...asksWorker, concurrency: 2 }, worker: { ...pair.instances.worker, concurrency: 2 } },
  })
  const people = Array.from({ length: 6 }, (_, at) => person(world, `question ${at}`))
  const answers = await Promise.all(people)
  t.deepEqual(
    answers.map(({ stdout }) => stdout.trim()),
    people.map((_, at) => `reviewed: question ${at}`),
  )
})

const person = ({ folder, where }: World, prompt: string) => {
  const running = promisify(execFile)(process.execPath, [errandScript, 'talk', 'reviewer', prompt], {
    cwd: folder,
    env: { ...where.environment },
  })
  // What is piped in would be read to its end.
  running.child.stdin?.end()
  return running
}

const turn = io.type({ instance: io.string, sender: io.string, depth: io.number, state: io.string })

const turns = (state: State) =>
  state.store.read(sql => sql.all(turn, 'SELECT instance, sender, depth, state FROM turns'))
