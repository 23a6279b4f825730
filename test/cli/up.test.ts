import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { errand, isPlain, lives, placeOf, shell, start, startUp, until, untilStopping } from './errand.ts'

const two = {
  worker: shell('cat', { peers: ['reviewer'] }),
  reviewer: shell('errand talk worker', { budget: { usd: 1 } }),
}

const urlIn = (said: string): string => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? ''

test('up tells each instance when it listens, and ps shows it', async t => {
  const place = placeOf(t, two)
  const running = await startUp(t, place)
  for (const name of ['worker', 'reviewer']) {
    await running.says(new RegExp(`^${name} \\(command\\) listens on http://127\\.0\\.0\\.1:\\d+$`, 'm'))
  }
  const { stdout } = await errand(place, ['ps'])
  t.regex(stdout, /^INSTANCE +ENGINE +URL +PID +RUNNING +QUEUED +BUDGET +STATE\n/)
  t.regex(
    stdout,
    new RegExp(
      `reviewer +command +http://127.0.0.1:\\d+ +${running.child.pid} +0 +0 +\\$0.0000 of \\$1.00 \\(total\\) +ok\\n`,
    ),
  )
  const told = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  t.deepEqual(
    told.map((row: object) => Object.keys(row)),
    [0, 1].map(() => ['instance', 'engine', 'url', 'pid', 'running', 'queued', 'budget', 'state']),
  )
})

test('from 80 % of a budget on, ps warns', async t => {
  const worker = shell(`echo '{"usd":0.08}' >> "$ERRAND_REPORT"; cat`, { budget: { usd: 0.1 } })
  const place = placeOf(t, { worker }, { budget: { usd: 1 } })
  await startUp(t, place)
  t.is((await errand(place, ['ps'])).stderr, '')
  await errand(place, ['talk', 'worker', 'hi'])
  t.is((await errand(place, ['ps'])).stderr, 'errand: warning: Budget of worker: $0.0800 used of $0.10 (total).\n')
})

test('up --json prints one line of JSON for each', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const running = start(place, ['up', '--json'])
  await running.says('\n')
  running.child.kill('SIGINT')
  const { status, stdout } = await running.ended
  t.is(status, 0)
  const { url, ...event } = JSON.parse(stdout)
  t.deepEqual(event, { event: 'listening', instance: 'worker', pid: running.child.pid })
  t.regex(url, /^http:\/\/127\.0\.0\.1:\d+$/)
})

test('up NAME launches that one alone', async t => {
  const place = placeOf(t, two)
  await startUp(t, place, 'worker')
  const told = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  t.deepEqual(
    told.map(({ instance }: { instance: string }) => instance),
    ['worker'],
  )
})

test('a talk uses what runs', async t => {
  const place = placeOf(t, two)
  const running = await startUp(t, place)
  t.deepEqual(await errand(place, ['talk', 'reviewer', 'hi']), { status: 0, stdout: 'hi\n', stderr: '' })
  t.true(lives(running.child.pid ?? 0))
})

test('a second up of the same instance is refused, with its process and what to do', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const running = await startUp(t, place)
  const { status, stderr, stdout } = await errand(place, ['up'])
  t.is(status, 75)
  t.is(stdout, '')
  t.regex(stderr, new RegExp(`^errand: worker already runs in process ${running.child.pid}.*errand stop worker`))
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends up cleanly`, async t => {
    const place = placeOf(t, two)
    const running = await startUp(t, place)
    running.child.kill(signal)
    const { status, stderr } = await running.ended
    t.is(status, 0)
    t.is(stderr, '')
    t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
  })
}

test('a turn may end in the grace after the first signal', async t => {
  const place = placeOf(t, { worker: shell('touch here; while [ ! -e go ]; do sleep 0.05; done; echo finished') })
  const running = await startUp(t, place)
  const talk = start(place, ['talk', 'worker', 'hi'])
  await until('the turn runs', () => fs.existsSync(path.join(place.folder, 'here')))
  running.child.kill('SIGTERM')
  await untilStopping(urlIn(await running.says('listens on')))
  const [shown] = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  t.like(shown, { instance: 'worker', url: null, state: 'not listening' })
  place.write('go', '')
  t.deepEqual(await talk.ended, { status: 0, stdout: 'finished\n', stderr: '' })
  t.is((await running.ended).status, 0)
})

test('a second signal ends the turns now', async t => {
  const place = placeOf(t, { worker: shell('echo $$ > pid; exec sleep 300') })
  const running = await startUp(t, place)
  const talk = start(place, ['talk', 'worker', 'hi'])
  await until('the turn runs', () => fs.existsSync(path.join(place.folder, 'pid')) && place.read('pid').endsWith('\n'))
  running.child.kill('SIGINT')
  await untilStopping(urlIn(await running.says('listens on')))
  running.child.kill('SIGINT')
  t.is((await running.ended).status, 130)
  t.false(lives(Number(place.read('pid'))))
  const { status, stderr } = await talk.ended
  t.not(status, 0)
  t.true(isPlain(stderr))
})

test('stop ends what runs', async t => {
  const place = placeOf(t, two)
  const running = await startUp(t, place)
  t.deepEqual(await errand(place, ['stop', 'worker']), { status: 0, stdout: 'worker stopped\n', stderr: '' })
  t.deepEqual(JSON.parse((await errand(place, ['stop', '--json'])).stdout), {
    stopped: ['reviewer'],
    still: [],
    forgotten: [],
  })
  t.is((await running.ended).status, 0)
  t.is((await errand(place, ['stop'])).stderr, 'Nothing runs.\n')
})

test('warnings of a sound file go to stderr', async t => {
  const place = placeOf(t, { worker: shell('cat', { peers: ['reviwer'] }), reviewer: shell('cat') })
  const running = await startUp(t, place)
  const said = await running.says('warning')
  t.regex(said, /^errand: warning: .*reviwer.*Did you mean "reviewer"\?$/m)
})
