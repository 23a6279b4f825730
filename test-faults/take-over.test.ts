import fs from 'node:fs'
import path from 'node:path'
import test, { type ExecutionContext } from 'ava'
import {
  errand,
  type Place,
  placeOf,
  type Running,
  shell,
  start,
  startUp,
  stateFile,
  until,
} from '../test/cli/errand.ts'
import { freePort } from '../test/client/stub.ts'
import { jsonHeaders, send } from '../test/fixtures/http.ts'

/** Says that it runs, and answers once `go` is there. */
const waits = 'echo x >> here; while [ ! -e go ]; do sleep 0.05; done; cat'

const takesOver = async (t: ExecutionContext, place: Place, ...names: readonly string[]): Promise<Running> => {
  const running = start(place, ['up', '--take-over', ...names])
  t.teardown(async () => {
    running.child.kill('SIGINT')
    await running.ended
  })
  await running.says('listens on')
  return running
}

const urlOf = async ({ says }: Running): Promise<string> =>
  /http:\/\/127\.0\.0\.1:\d+/.exec(await says('listens on'))?.[0] ?? ''

const begun = (place: Place, times = 1) =>
  until(`${times} turns run`, () => {
    const file = path.join(place.folder, 'here')
    return fs.existsSync(file) && fs.readFileSync(file, 'utf8').length >= times * 2
  })

const lookAtRuns = async (
  place: Place,
  limit = 50,
): Promise<readonly { readonly turn: string; readonly outcome: string | null }[]> =>
  JSON.parse((await errand(place, ['log', '--json', '--limit', String(limit)])).stdout)

/** On a connection of its own: one that is kept alive may be closed just when the next request is sent. */
const post = async (place: Place, url: string, prompt: string, headers: Readonly<Record<string, string>> = {}) => {
  const secret = fs.readFileSync(stateFile(place, 'secret'), 'utf8').trim()
  const body = JSON.stringify({ fromInstance: 'operator', prompt, depth: 0 })
  const { text } = await send(Number(new URL(url).port), { headers: { ...jsonHeaders(secret), ...headers }, body })
  return JSON.parse(text)
}

test('--take-over: the new process hosts, the old one answers what it runs and ends; what others asked for goes on', async t => {
  const place = placeOf(t, { worker: shell(waits) })
  const old = await startUp(t, place)
  const first = start(place, ['talk', 'worker', 'first'])
  await begun(place)
  const second = start(place, ['talk', 'worker', 'second'])
  const fresh = await takesOver(t, place)
  t.regex(
    await fresh.says('taken over'),
    new RegExp(`^worker was taken over from process ${old.child.pid}, which answers what it still runs\\.$`, 'm'),
  )
  await old.says(`worker was taken over by process ${fresh.child.pid}`)
  t.not(await urlOf(fresh), await urlOf(old))
  const third = start(place, ['talk', 'worker', 'third'])
  place.write('go', '')
  t.deepEqual(
    (await Promise.all([first.ended, second.ended, third.ended])).map(({ status, stdout }) => [status, stdout]),
    ['first', 'second', 'third'].map(text => [0, `${text}\n`]),
  )
  t.is((await old.ended).status, 0)
  t.deepEqual(
    JSON.parse((await errand(place, ['ps', '--json'])).stdout).map((one: Record<string, unknown>) => one['pid']),
    [fresh.child.pid],
  )
})

test('what was not taken over goes on where it was', async t => {
  const place = placeOf(t, { worker: shell('cat'), reviewer: shell('cat') })
  const old = await startUp(t, place)
  await old.says(/^reviewer.*listens on/m)
  await old.says(/^worker.*listens on/m)
  const fresh = await takesOver(t, place, 'worker')
  await old.says('taken over by')
  const shown = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  t.deepEqual(
    shown.map((one: Record<string, unknown>) => [one['instance'], one['pid']]),
    [
      ['reviewer', old.child.pid],
      ['worker', fresh.child.pid],
    ],
  )
  for (const name of ['worker', 'reviewer']) t.is((await errand(place, ['talk', name, 'hi'])).stdout, 'hi\n')
})

test('an instance runs no more turns at once than it may while two processes have turns of it', async t => {
  const place = placeOf(t, {
    worker: shell('if mkdir lock 2>&1; then sleep 0.2; rmdir lock; cat; else echo two at once; fi'),
  })
  await startUp(t, place)
  const before = ['a', 'b', 'c'].map(text => start(place, ['talk', 'worker', text]))
  await until('one runs', () => fs.existsSync(path.join(place.folder, 'lock')))
  await takesOver(t, place)
  const after = ['d', 'e'].map(text => start(place, ['talk', 'worker', text]))
  const ran = await Promise.all([...before, ...after].map(({ ended }) => ended))
  t.deepEqual(
    ran.map(({ stdout }) => stdout),
    ['a', 'b', 'c', 'd', 'e'].map(text => `${text}\n`),
  )
})

test('a port of its own changes hands: whoever asks there is answered by the one or the other', async t => {
  const port = await freePort()
  const place = placeOf(t, { worker: shell('cat', { port, concurrency: 4 }) })
  const old = await startUp(t, place)
  const url = `http://127.0.0.1:${port}`
  let taken = false
  const texts: string[] = []
  const unheard = new Set<string>()
  const asks = async () => {
    while (!taken) {
      // In the blink between the two nobody has heard the talk, so it may be sent again.
      await post(place, url, 'hi').then(
        told => texts.push(told.success ? told.text : `${told.errorCode}: ${told.error}`),
        failed => unheard.add(failed.code ?? String(failed)),
      )
    }
  }
  t.teardown(() => {
    taken = true
  })
  const asking = [asks(), asks()]
  const fresh = await takesOver(t, place)
  t.is(await urlOf(fresh), url)
  t.is((await old.ended).status, 0)
  t.is((await errand(place, ['talk', 'worker', 'still'])).stdout, 'still\n')
  taken = true
  await Promise.all(asking)
  t.deepEqual([...new Set(texts)], ['hi'])
  // Whoever waited to be accepted when the port was closed is reset; what was heard was answered, and nothing else has run.
  for (const code of unheard) t.regex(code, /^ECONN(?:REFUSED|RESET)$/)
  t.is((await lookAtRuns(place, 10_000)).length, texts.length + 1)
})

test('a turn of the old process delegates to the new one, and is cancelled through it', async t => {
  const place = placeOf(t, {
    reviewer: shell(`${waits}; errand talk worker deep < /dev/null`),
    worker: shell('cat', { peers: ['reviewer'] }),
    sleeper: shell('echo x >> here; echo $$ > sleeper.pid; exec sleep 600'),
  })
  const old = await startUp(t, place)
  const delegating = start(place, ['talk', 'reviewer', 'outer '])
  const sleeping = start(place, ['talk', 'sleeper', 'hi', '--json'])
  await begun(place, 2)
  await takesOver(t, place)
  await old.says(/sleeper was taken over by/)
  const sleeper = JSON.parse((await errand(place, ['log', '--json'])).stdout).find(
    (one: Record<string, unknown>) => one['instance'] === 'sleeper',
  ).turn
  const cancelled = await errand(place, ['cancel', sleeper])
  t.is(cancelled.stdout, `Turn ${sleeper} of sleeper was ended.\n`)
  t.like(JSON.parse((await sleeping.ended).stdout), { success: false, errorCode: 'cancelled' })
  place.write('go', '')
  t.is((await delegating.ended).stdout, 'outer deep\n')
  t.is((await old.ended).status, 0)
})

test('a key whose turn the old process still runs is busy for the new one, and then has its answer', async t => {
  const place = placeOf(t, { worker: shell(waits) })
  const old = await startUp(t, place)
  const key = { 'idempotency-key': 'k1' }
  const first = post(place, await urlOf(old), 'once', key)
  await begun(place)
  const url = await urlOf(await takesOver(t, place))
  const busy = await post(place, url, 'once', key)
  t.like(busy, { success: false, errorCode: 'busy', retryable: true })
  t.true(busy.ext.retryAfterMs > 0)
  place.write('go', '')
  t.is((await first).text, 'once')
  t.is((await old.ended).status, 0)
  const replayed = await post(place, url, 'once', key)
  t.is(replayed.text, 'once')
  t.is(replayed.ext.turn, (await first).ext.turn)
  t.is((await lookAtRuns(place)).length, 1)
})

test('an old process that dies in the middle loses nothing: its turn is settled, and the new one goes on', async t => {
  const place = placeOf(t, { worker: shell(waits) })
  const old = await startUp(t, place)
  const first = start(place, ['talk', 'worker', 'first', '--json'])
  await begun(place)
  await takesOver(t, place)
  const second = start(place, ['talk', 'worker', 'second'])
  old.child.kill('SIGKILL')
  t.is((await first.ended).status, 75)
  await begun(place, 2)
  place.write('go', '')
  t.is((await second.ended).stdout, 'second\n')
  t.deepEqual(
    (await lookAtRuns(place)).map(({ outcome }) => outcome),
    ['success', 'cancelled'],
  )
})

test('an old process that is stuck is named, with what ends it', async t => {
  const place = placeOf(t, { worker: shell(waits) })
  const old = await startUp(t, place)
  old.child.kill('SIGSTOP')
  t.teardown(() => old.child.kill('SIGCONT'))
  const fresh = await takesOver(t, place)
  await fresh.says(
    new RegExp(
      `Process ${old.child.pid} has not let go of worker within 5 s, so it may be stuck.*kill -9 ${old.child.pid}`,
    ),
  )
  place.write('go', '')
  t.is((await errand(place, ['talk', 'worker', 'hi'])).stdout, 'hi\n')
  old.child.kill('SIGKILL')
})

test('a name that runs elsewhere is refused by a plain up, which names --take-over', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const old = await startUp(t, place)
  const { status, stderr } = await errand(place, ['up'])
  t.is(status, 75)
  t.regex(stderr, new RegExp(`worker already runs in process ${old.child.pid}.*errand up --take-over worker`))
})

test('--take-over of what runs nowhere is a launch', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const running = await takesOver(t, place)
  t.is((await errand(place, ['talk', 'worker', 'hi'])).stdout, 'hi\n')
  running.child.kill('SIGTERM')
  t.deepEqual([(await running.ended).status, (await running.ended).stderr], [0, ''])
})

test('one after another takes over, and a signal to one that is relieved gives its turns their grace', async t => {
  const place = placeOf(t, { worker: shell(waits) })
  const old = await startUp(t, place)
  const first = start(place, ['talk', 'worker', 'first'])
  await begun(place)
  const second = await takesOver(t, place)
  await old.says('taken over by')
  await takesOver(t, place)
  t.is((await second.ended).status, 0)
  old.child.kill('SIGTERM')
  place.write('go', '')
  t.is((await first.ended).stdout, 'first\n')
  t.is((await old.ended).status, 0)
  t.is((await errand(place, ['talk', 'worker', 'hi'])).stdout, 'hi\n')
})
