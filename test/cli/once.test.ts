import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { type Answer, jsonHeaders, send, talkBody } from '../fixtures/http.ts'
import { errand, type Place, placeOf, shell, start, startUp, stateFile, until } from './errand.ts'

const talker = fileURLToPath(new URL('../fixtures/talker.mjs', import.meta.url))

/** An agent that keeps sessions. */
const withTalker = (t: ExecutionContext, more: object = {}): Place => {
  const place = placeOf(t)
  const calls = path.join(place.folder, 'calls')
  place.write('budgets.json', {
    instances: {
      worker: { engine: 'claude', cli: [process.execPath, talker, calls], ...more },
      plain: shell('cat'),
    },
  })
  return place
}

const heard = (stdout: string): unknown => {
  const told: unknown = JSON.parse(stdout)
  return Reflect.get(Object(told), 'heard')
}

const resumes = (place: Place): readonly boolean[] =>
  place
    .read('calls')
    .split('\n')
    .filter(line => line.includes('"start"'))
    .map(line => line.includes('"--resume"'))

test('--thread goes on with a conversation, also when its host has gone and come back', async t => {
  const place = withTalker(t)
  const [one, two, three] = [
    await errand(place, ['talk', 'worker', 'one', '--thread', 't']),
    await errand(place, ['talk', 'worker', 'two', '--thread', 't', '--json']),
    await errand(place, ['talk', 'worker', 'three', '--thread', 'u']),
  ]
  t.deepEqual(heard(one.stdout), ['one'])
  const envelope = JSON.parse(two.stdout)
  t.deepEqual(heard(envelope.text), ['one', 'two'])
  t.is(envelope.ext.thread, 't')
  t.deepEqual(heard(three.stdout), ['three'])
  t.deepEqual(resumes(place), [false, true, false])
})

test('talks of two processes on one thread run one after the other', async t => {
  const place = withTalker(t, { concurrency: 4 })
  await startUp(t, place, 'worker')
  const asked = ['gate open', 'b', 'c'].map(prompt => start(place, ['talk', 'worker', prompt, '--thread', 't']))
  await until('one runs', () => fs.existsSync(path.join(place.folder, 'calls')))
  place.write('calls.open', '')
  const ran = await Promise.all(asked.map(({ ended }) => ended))
  t.deepEqual(
    ran.map(({ status }) => status),
    [0, 0, 0],
  )
  const lengths = ran.map(({ stdout }) => Object(heard(stdout)).length)
  t.deepEqual(lengths.toSorted(), [1, 2, 3])
  t.deepEqual(resumes(place), [false, true, true])
})

test('a session that was lost is told of on stderr; the answer alone is on stdout', async t => {
  const place = withTalker(t)
  await errand(place, ['talk', 'worker', 'one', '--thread', 't'])
  fs.rmSync(path.join(place.folder, 'calls.sessions'), { recursive: true })
  const { status, stdout, stderr } = await errand(place, ['talk', 'worker', 'two', '--thread', 't'])
  t.is(status, 0)
  t.deepEqual(heard(stdout), ['two'])
  t.true(stderr.includes('has lost the session of thread t, so a new one began'), stderr)
})

test('a thread that cannot be: refused with a sentence, and nothing is launched for a wrong name', async t => {
  const place = withTalker(t)
  for (const name of ['../x', '', 'a b']) {
    const { status, stderr } = await errand(place, ['talk', 'worker', 'one', '--thread', name])
    t.is(status, 64, stderr)
    t.true(stderr.startsWith('errand: --thread must be a name of 1 to 100 letters'), stderr)
  }
  t.false(fs.existsSync(path.join(place.folder, 'calls')))
  const { status, stderr } = await errand(place, ['talk', 'plain', 'one', '--thread', 't'])
  t.is(status, 65)
  t.true(stderr.includes('plain runs on the engine command, which keeps no sessions'), stderr)
})

const urlOf = (said: string): URL => new URL(/http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? '')

const ask = (place: Place, { port }: URL, key: string): Promise<Answer> =>
  send(Number(port), {
    headers: { ...jsonHeaders(fs.readFileSync(stateFile(place, 'secret'), 'utf8').trim()), 'Idempotency-Key': key },
    body: talkBody({ fromInstance: 'operator', prompt: key }),
  })

test('a turn cut by the death of its host stays cancelled under its key; a talk that only waited runs', async t => {
  const place = placeOf(t, {
    worker: shell('cat >> runs; echo >> runs; while [ ! -e open ]; do sleep 0.05; done; echo done'),
  })
  const first = await startUp(t, place, 'worker')
  const url = urlOf(await first.says('listens on'))
  const lost = [ask(place, url, 'k1')]
  await until('the first runs', () => fs.existsSync(path.join(place.folder, 'runs')))
  lost.push(ask(place, url, 'k2'))
  let queued = 0
  while (queued < 1) {
    const health: unknown = await (await fetch(new URL('/api/health', url))).json()
    queued = Number(Reflect.get(Object(health), 'queued'))
  }
  first.child.kill('SIGKILL')
  for (const one of lost) await t.throwsAsync(one)
  await first.ended

  const again = urlOf(await (await startUp(t, place, 'worker')).says('listens on'))
  for (const _ of [1, 2]) {
    const cut = await ask(place, again, 'k1')
    t.is(cut.status, 499)
    t.like(cut.json, { errorCode: 'cancelled', retryable: false })
    t.regex(
      cut.text,
      /Its host died in the middle of turn [0-9a-f]{16}\. It is not run again under this key; send the talk/,
    )
  }
  place.write('open', '')
  t.like((await ask(place, again, 'k2')).json, { success: true, text: 'done' })
  t.like((await ask(place, again, 'k3')).json, { success: true })
  t.deepEqual(place.read('runs').split('\n').filter(Boolean), ['k1', 'k2', 'k3'])
})
