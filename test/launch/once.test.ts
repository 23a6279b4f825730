import { readFile, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { setImmediate as turnOver } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import { turnRecords } from '../../src/budget/turns.ts'
import { launchMissing } from '../../src/launch/launch.ts'
import type { State } from '../../src/launch/state.ts'
import { type Ask, type TalkEvent, talkWith } from '../../src/launch/talk.ts'
import type { ProgressEvent } from '../../src/protocol/progress.ts'
import { makeWorld, right, scripted, until, type World } from './world.ts'

/** Notes each run, and answers when the file `open` is there. */
const waits = scripted(
  `const fs = require('fs')
   fs.appendFileSync('runs', 'run\\n')
   setInterval(() => fs.existsSync('open') && (console.log('done'), process.exit(0)), 5)`,
  { price: { perTurn: 0.01 } },
)

interface Decoy {
  readonly url: string
  /** The requests that came, with their heads. */
  readonly heads: string[]
}

/**
 * Passes all on to the worker; cuts the first `cuts` connections as soon as the worker has begun to answer, before or after
 * the caller has heard that.
 */
const decoyBefore = async (t: ExecutionContext, port: number, cuts: number, heard: boolean): Promise<Decoy> => {
  const heads: string[] = []
  const server = net.createServer(caller => {
    const worker = net.connect(port, '127.0.0.1')
    for (const socket of [caller, worker]) socket.on('error', () => undefined)
    caller.once('data', head => {
      heads.push(head.toString())
      // A bus knows its own port.
      worker.write(head.toString().replace(/^Host: .*$/im, `Host: 127.0.0.1:${port}`))
      caller.pipe(worker)
    })
    caller.once('close', () => worker.destroy())
    worker.once('close', () => caller.destroy())
    worker.on('data', bytes => {
      if (heads.length > cuts) caller.write(bytes)
      else if (heard) caller.end(bytes)
      else caller.resetAndDestroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, heads }
}

interface Scene {
  readonly world: World
  readonly state: State
  readonly decoy: Decoy
  readonly ask: (more?: Partial<Ask>) => ReturnType<ReturnType<ReturnType<typeof talkWith>>>
  readonly runs: () => Promise<number>
  readonly turns: () => Promise<readonly (string | undefined)[]>
  readonly open: () => Promise<void>
}

/** A worker that runs, and is found by the address of a decoy. */
const scene = async (t: ExecutionContext, cuts: number, heard = false): Promise<Scene> => {
  const world = await makeWorld(t)
  const state = await world.state({ instances: { worker: waits } })
  const hosted = await right(launchMissing(state, ['worker'], {}))
  t.teardown(() => hosted?.stop(0))
  const listed = await right(state.registry.list())
  const decoy = await decoyBefore(t, Number(new URL(listed[0]?.url ?? '').port), cuts, heard)
  await right(state.store.write(sql => void sql.run('UPDATE instances SET url = ?', decoy.url)))
  const { folder } = world
  return {
    ...{ world, state, decoy },
    ask: (more = {}) => talkWith(undefined)(state, { name: 'worker', prompt: 'x', ...more })(),
    runs: async () => (await readFile(path.join(folder, 'runs'), 'utf8').catch(() => '')).split('\n').length - 1,
    turns: async () =>
      (await right(turnRecords(state.store, { limit: 9 }))).map(({ outcome, costMicroUsd = 0 }) =>
        outcome === undefined ? undefined : `${outcome} ${costMicroUsd}`,
      ),
    open: () => writeFile(path.join(folder, 'open'), ''),
  }
}

const keyIn = (head: string): string | undefined => /^idempotency-key: (.*)$/im.exec(head)?.[1]?.trim()

test('an answer that was lost is asked for again under the same key: one run, one charge', async t => {
  const { ask, decoy, runs, turns, open } = await scene(t, 2)
  const asked = ask({ retry: 5, onEvent: ({ kind }) => void (kind === 'again' && decoy.heads.length === 2 && open()) })
  const { envelope } = await asked
  t.like(envelope, { success: true, text: 'done' })
  t.is(await runs(), 1)
  t.deepEqual(await turns(), ['success 10000'])
  t.is(decoy.heads.length, 3)
  const keys = new Set(decoy.heads.map(keyIn))
  t.is(keys.size, 1)
  t.regex([...keys][0] ?? '', /^[0-9a-f-]{36}$/)
})

test('each talk that may be repeated has a key of its own; one that may not has none', async t => {
  const { ask, decoy, open } = await scene(t, 0)
  await open()
  await ask({ retry: 1 })
  await ask({ retry: 1 })
  await ask()
  await ask({ idempotencyKey: 'mine' })
  await ask({ idempotencyKey: 'mine', retry: 2 })
  const [one, other, none, mine, again] = decoy.heads.map(keyIn)
  t.not(one, other)
  t.deepEqual([none, mine, again], [undefined, 'mine', 'mine'])
})

test('without a key nothing is repeated once bytes were sent, and the turn ends with its caller', async t => {
  const { ask, decoy, runs, turns } = await scene(t, 9)
  const followed = await ask({ onProgress: () => undefined })
  t.like(followed, { repeatable: false, gone: false, envelope: { success: false, retryable: true } })
  t.is(decoy.heads.length, 1)
  await until(async () => (await turns())[0] !== undefined)
  t.true((await turns())[0]?.startsWith('cancelled'))
  t.true((await runs()) <= 1)
})

test('whoever gives up while it waits to repeat has the turn ended that goes on', async t => {
  const { ask, turns, decoy } = await scene(t, 1, true)
  const controller = new AbortController()
  const onEvent = ({ kind }: TalkEvent) => void (kind === 'again' && controller.abort())
  const { envelope } = await ask({ retry: 3, signal: controller.signal, onEvent, onProgress: () => undefined })
  t.like(envelope, { success: false, retryable: true })
  t.deepEqual(
    (await turns()).map(turn => turn?.split(' ')[0]),
    ['cancelled'],
  )
  // The talk, and its cancel.
  t.deepEqual(
    decoy.heads.map(head => /^POST (\/api\/\w+)/.exec(head)?.[1]),
    ['/api/talk', '/api/turns'],
  )
})

test('whoever gives up while it is answered has the turn ended, although it has a key', async t => {
  const { ask, turns } = await scene(t, 0)
  const controller = new AbortController()
  const { envelope } = await ask({
    retry: 3,
    signal: controller.signal,
    onProgress: ({ kind }) => void (kind === 'started' && controller.abort()),
  })
  t.like(envelope, { errorCode: 'cancelled' })
  t.deepEqual(
    (await turns()).map(turn => turn?.split(' ')[0]),
    ['cancelled'],
  )
})

test('when its time is up, the turn of a talk with a key is ended too', async t => {
  const { ask, turns, runs } = await scene(t, 0)
  const { envelope } = await ask({ idempotencyKey: 'k', timeoutMs: 3000 })
  t.like(envelope, { errorCode: 'timeout' })
  t.deepEqual(
    (await turns()).map(turn => turn?.split(' ')[0]),
    ['cancelled'],
  )
  t.is(await runs(), 1)
  t.like((await ask({ idempotencyKey: 'k' })).envelope, { errorCode: 'cancelled' })
})

test('whoever gives up alone ends nothing that another waits for', async t => {
  const { ask, turns, open } = await scene(t, 0)
  const [patient, controller] = [Promise.withResolvers<void>(), new AbortController()]
  const begun = ({ kind }: ProgressEvent) => void (kind === 'started' && patient.resolve())
  const waits = ask({ idempotencyKey: 'k', onProgress: begun })
  await patient.promise
  const gaveUp = ask({
    idempotencyKey: 'k',
    signal: controller.signal,
    onProgress: ({ kind }) => void (kind === 'started' && controller.abort()),
  })
  t.like((await gaveUp).envelope, { errorCode: 'cancelled' })
  await open()
  t.like((await waits).envelope, { success: true, text: 'done' })
  t.deepEqual(await turns(), ['success 10000'])
})

test('a turn that ended is not asked to end', async t => {
  const { ask, decoy, open } = await scene(t, 0)
  await open()
  const controller = new AbortController()
  await ask({ retry: 1, signal: controller.signal })
  controller.abort()
  await turnOver()
  t.is(decoy.heads.length, 1)
})
