import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import test from 'ava'
import { delegate } from '../../src/client/delegate.ts'
import { askHealth } from '../../src/client/health.ts'
import { check } from '../../src/launch/check.ts'
import { launchHere } from '../../src/launch/launch.ts'
import { openState } from '../../src/launch/state.ts'
import { stopInstances } from '../../src/launch/stop.ts'
import { talkWith } from '../../src/launch/talk.ts'
import { freePort, httpStub, json, rawStub, success } from '../client/stub.ts'
import { echo, left, makeWorld, right, scripted, until } from './world.ts'

const sentences = (mistakes: readonly { readonly sentence: string }[]) => mistakes.map(({ sentence }) => sentence)

test('instances listen, are found, answer, and are gone after stop', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const hosted = await right(launchHere(state, {}))
  const [worker] = hosted.instances
  t.is(hosted.instances.length, 1)
  t.like(worker, { name: 'worker', engine: 'command', pid: process.pid })
  t.like(await askHealth({ name: 'worker', url: worker?.url ?? '' }, 5000)(), { status: 'ok', instance: 'worker' })
  t.is(await askHealth({ name: 'other', url: worker?.url ?? '' }, 5000)(), undefined)
  const reply = await talkWith(undefined)(state, { name: 'worker', prompt: 'hello' })()
  t.is(reply.envelope.text, 'hello')
  await hosted.stop(1000)
  await hosted.stopped
  t.deepEqual(await right(state.registry.list()), [])
  t.is(await askHealth({ name: 'worker', url: worker?.url ?? '' }, 5000)(), undefined)
})

test('a disabled instance listens too, and says that it is disabled', async t => {
  const state = await (await makeWorld(t)).state({ instances: { off: scripted(echo, { enabled: false }) } })
  const hosted = await right(launchHere(state, {}))
  const [off] = hosted.instances
  const reply = await delegate(
    { name: 'off', url: off?.url ?? '' },
    { fromInstance: 'operator', depth: 0, prompt: 'hello' },
    { bearer: state.secret },
    { now: Date.now },
  )()
  t.like(reply.envelope, { success: false, errorCode: 'bus_disabled' })
  await hosted.stop(1000)
})

test('ERRAND_SECRET is the secret, however short; one that can be guessed is a warning', async t => {
  const world = await makeWorld(t)
  const config = await world.config({ instances: { worker: scripted(echo) } })
  const open = (secret: string) =>
    openState(config, { ...world.where, environment: { ...world.where.environment, ERRAND_SECRET: secret } })
  t.regex((await left(open('no blanks'))).sentence, /ERRAND_SECRET/)
  const state = await right(open('k'))
  t.teardown(state.close)
  t.is(state.secret, 'k')
  const hosted = await right(launchHere(state, {}))
  t.regex(hosted.warnings.join(), /ERRAND_SECRET is short/)
  await hosted.stop(1000)
})

test('what can be known beforehand is told at once, and nothing is started', async t => {
  const world = await makeWorld(t)
  const occupant = await rawStub(() => undefined)
  t.teardown(occupant.close)
  await world.write('throws.ts', 'throw new Error("no luck")')
  await world.write('lacks.ts', 'export default { name: "lacks" }')
  const state = await world.state({
    instances: {
      fine: scripted(echo),
      throws: { engine: './throws.ts' },
      lacks: { engine: './lacks.ts' },
      unknown: { engine: 'cladue' },
      taken: scripted(echo, { port: occupant.port }),
      notes: scripted(echo, { instructions: 'notes.md' }),
    },
  })
  const told = sentences(await left(launchHere(state, {})))
  t.is(told.length, 5, told.join('\n'))
  for (const expected of [
    /throws: .*no luck/,
    /lacks: .*output/,
    /"cladue"/,
    /Port \d+ of instance taken/,
    /notes\.md/,
  ]) {
    t.true(
      told.some(sentence => expected.test(sentence)),
      `${expected}`,
    )
  }
  t.deepEqual(await right(state.registry.list()), [])
  const checked = await check(state.config, state.where)()
  t.is(checked.mistakes.length, 4)
  t.is(checked.warnings.length, 1, 'the port: the instance itself may use it')
})

test('a name that nobody defines, and one that runs already', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo), other: scripted(echo) } })
  t.regex(
    sentences(await left(launchHere(state, { only: ['wroker'] })))[0] ?? '',
    /no instance "wroker"\. Did you mean "worker"\?/,
  )
  const hosted = await right(launchHere(state, { only: ['worker'] }))
  const told = sentences(await left(launchHere(state, {})))
  t.deepEqual(told, [
    `worker already runs in process ${process.pid}. Use it as it is, take its place (errand up --take-over worker), or end it (errand stop worker).`,
  ])
  t.deepEqual(
    (await right(state.registry.list())).map(({ name }) => name),
    ['worker'],
  )
  await hosted.stop(0)
})

test('a port that is lost half way: all is undone', async t => {
  const world = await makeWorld(t)
  const port = await freePort()
  const state = await world.state({ instances: { a: scripted(echo), b: scripted(echo, { port }) } })
  // Takes the port as soon as the check has let go of it.
  const claim = state.registry.claim
  const thief = net.createServer()
  t.teardown(() => thief.close())
  const stolen = {
    ...state,
    registry: {
      ...state.registry,
      claim:
        (...facts: Parameters<typeof claim>) =>
        async () => {
          thief.listen({ host: '127.0.0.1', port })
          await once(thief, 'listening')
          return claim(...facts)()
        },
    },
  }
  const told = sentences(await left(launchHere(stolen, {})))
  t.is(told.length, 1)
  t.regex(told[0] ?? '', /Port \d+ of instance b is taken/)
  t.deepEqual(await right(state.registry.list()), [])
  t.deepEqual(await right(state.store.read(sql => sql.run('DELETE FROM hosts'))), 0)
})

test('a missing program or folder is a warning: others run', async t => {
  const world = await makeWorld(t)
  const state = await world.state({
    instances: {
      gone: { engine: 'claude', cli: './no-such-cli' },
      bare: { engine: 'command', command: ['no-such-program-anywhere'] },
      folder: scripted(echo, { cwd: 'nowhere' }),
    },
  })
  const hosted = await right(launchHere(state, {}))
  t.is(hosted.instances.length, 3)
  t.is(hosted.warnings.length, 3)
  t.true(hosted.warnings.some(text => text.includes('no-such-program-anywhere')))
  t.true(hosted.warnings.some(text => text.includes('nowhere')))
  await hosted.stop(0)
})

test('100 instances in one process are launched at once', async t => {
  const names = Array.from({ length: 100 }, (_, at) => `worker-${at}`)
  const state = await (await makeWorld(t)).state({
    instances: Object.fromEntries(names.map(name => [name, scripted(echo)])),
  })
  const startedAtMs = performance.now()
  const hosted = await right(launchHere(state, {}))
  const tookMs = performance.now() - startedAtMs
  t.log(`${tookMs.toFixed(0)} ms`)
  t.is((await right(state.registry.list())).filter(({ url }) => url !== undefined).length, 100)
  // The benchmark holds it to 1.5 s; this machine may be busy.
  t.true(tookMs < 10_000, `${tookMs} ms`)
  await hosted.stop(0)
  t.deepEqual(await right(state.registry.list()), [])
})

test('the state folder is for the user alone, and turns find `errand` there', async t => {
  const world = await makeWorld(t)
  const state = await world.state({
    bus: { stateDir: 'tree/state' },
    instances: {
      worker: {
        engine: 'command',
        command: ['sh', '-c', 'command -v errand && errand --version && echo "$ERRAND_CONFIG"'],
        cwd: '.',
      },
    },
  })
  const hosted = await right(launchHere(state, {}))
  const { text } = (await talkWith(undefined)(state, { name: 'worker', prompt: 'where' })()).envelope
  const [found, version, config] = text.split('\n')
  t.is(found, path.join(state.config.stateFolder, 'bin', 'errand'))
  t.regex(version ?? '', /^\d+\.\d+\.\d+$/)
  t.is(config, path.join(world.folder, 'budgets.json'))
  await hosted.stop(0)
  const names = await readdir(state.config.stateFolder)
  t.true(names.includes('.gitignore'))
  for (const name of names) {
    const { mode } = await stat(path.join(state.config.stateFolder, name))
    t.is(mode & 0o077, 0, name)
  }
})

test('`stop` ends an instance of another host, lets its turn end, and leaves the others', async t => {
  const world = await makeWorld(t)
  const state = await world.state({
    instances: { worker: scripted("setTimeout(() => console.log('done'), 400)"), other: scripted(echo) },
  })
  const hosted = await right(launchHere(state, {}))
  const other = await right(openState(state.config, state.where))
  t.teardown(other.close)
  const reply = talkWith(undefined)(state, { name: 'worker', prompt: 'go' })()
  await until(async () => (await askHealth({ name: 'worker', url: urlOf(hosted, 'worker') }, 5000)())?.running === 1)
  t.deepEqual(await right(stopInstances(other, ['worker'], 20_000)), { stopped: ['worker'], still: [], forgotten: [] })
  t.is((await reply).envelope.text.trim(), 'done')
  t.deepEqual(
    hosted.instances.map(({ name }) => name),
    ['other'],
  )
  t.deepEqual((await right(stopInstances(other, [], 20_000))).stopped, ['other'])
  await hosted.stopped
  t.regex(sentences(await left(stopInstances(other, ['nobody'], 100)))[0] ?? '', /no instance "nobody"/)
})

test('a second stop with less patience ends what the first one waits for', async t => {
  const state = await (await makeWorld(t)).state({
    instances: { worker: scripted('setInterval(() => undefined, 1e6)') },
  })
  const hosted = await right(launchHere(state, {}))
  const reply = talkWith(undefined)(state, { name: 'worker', prompt: 'go' })()
  await until(async () => (await askHealth({ name: 'worker', url: urlOf(hosted, 'worker') }, 5000)())?.running === 1)
  const patient = hosted.stop(1_000_000)
  await hosted.stop(0)
  await patient
  const { envelope } = await reply
  t.is(envelope.success || envelope.errorCode, 'cancelled')
})

test('an entry whose port another program took: the program gets no secret', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const decoy = await httpStub(json(200, success('stolen')))
  t.teardown(decoy.close)
  const { newOwner } = await import('../../src/launch/hosting.ts')
  const owner = newOwner()
  const dead = { ...owner, process: { ...owner.process, startTime: '1' } }
  await right(state.registry.claim(dead, [{ name: 'worker', engine: 'command' }]))
  await right(state.registry.publish(dead.owner, new Map([['worker', decoy.url]])))
  const reply = await talkWith(undefined)(state, { name: 'worker', prompt: 'hi' })()
  t.is(reply.envelope.success || reply.envelope.errorCode, 'instance_unavailable')
  t.is(decoy.connections(), 0)
})

const urlOf = (hosted: { readonly instances: readonly { name: string; url: string }[] }, name: string): string =>
  hosted.instances.find(one => one.name === name)?.url ?? ''
