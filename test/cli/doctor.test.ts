import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import { errand, lives, type Place, placeOf, shell, start, startUp, stateFile, until } from './errand.ts'

/** An engine file whose CLI is a shell script beside it; `login` as in the Engine interface. */
const fake = (place: Place, login: object | undefined, script = 'exit 1', more: object = {}): object => {
  place.write(
    'fake.mjs',
    `export default {
      name: 'fake', cli: 'fake-cli', install: 'Install it with "npm install -g fake-cli".', output: 'json', env: ['FAKE_*'],
      checkedAgainst: '2.0.0', tellsUsd: true, ...${JSON.stringify({ login, ...more })},
      command: ({ cli: [file = ''], prompt }) => ({ file, args: [], stdin: prompt, env: { FAKE_QUIET: '1' } }),
      decode: () => [], classify: () => ({ code: 'engine_cli', sentence: '' }),
    }`,
  )
  place.write(
    'bin/fake-cli',
    `#!/bin/sh\n[ "$1" = --version ] && { echo "fake-cli 2.0.1 (build 7)"; exit 0; }\n${script}\n`,
  )
  fs.chmodSync(path.join(place.folder, 'bin/fake-cli'), 0o755)
  return { engine: './fake.mjs' }
}

/** Nothing but what the system has, and what the place has in its bin. */
const narrow = (place: Place, more: Readonly<Record<string, string>> = {}) => ({
  environment: { PATH: `${path.join(place.folder, 'bin')}:/usr/bin:/bin`, ...more },
})

interface Told {
  readonly level: string
  readonly about: string
  readonly sentence: string
  readonly mend?: string
}

const doctor = async (place: Place, options: object = {}, ...flags: readonly string[]) => {
  const { status, stdout, stderr } = await errand(place, ['doctor', '--json', ...flags], {
    ...narrow(place),
    ...options,
  })
  const json = JSON.parse(stdout)
  const all: readonly Told[] = json.findings
  return { status, stdout, stderr, json, of: (about: string) => all.filter(one => one.about === about) }
}

const loginOf = (json: { engines: readonly { engine: string; login: unknown }[] }) =>
  json.engines.find(({ engine }) => engine === './fake.mjs')?.login

test('without a budgets.json it tells of the engines, and what writes one', async t => {
  const place = placeOf(t)
  const { status, json, of } = await doctor(place)
  t.is(status, 65)
  t.false(json.success)
  t.like(of('budgets.json')[0], { level: 'problem', mend: 'errand init' })
  const names = json.engines.map(({ engine }: { engine: string }) => engine)
  for (const name of ['claude', 'codex', 'gemini', 'opencode', 'qwen', 'copilot', 'pi'])
    t.true(names.includes(name), name)
  const { stdout } = await errand(place, ['doctor'], narrow(place))
  t.regex(stdout, /^Engines\n {2}ENGINE +VERSION/)
  t.regex(stdout, /→ errand init\n/)
  t.false(fs.existsSync(place.stateHome), 'looking made a state folder')
})

test('an instance that could run now: found, its version, logged in by a variable whose value nobody sees', async t => {
  const place = placeOf(t)
  const login = { keys: ['FAKE_KEY'], how: 'fake-cli login' }
  place.write('budgets.json', { instances: { worker: fake(place, login), off: { engine: 'claude', enabled: false } } })
  const { status, stdout, json, of } = await doctor(place, narrow(place, { FAKE_KEY: 'very-secret' }))
  t.is(status, 0, stdout)
  t.like(
    json.engines.find(({ engine }: { engine: string }) => engine === './fake.mjs'),
    {
      instances: ['worker'],
      path: `${place.folder}/bin/fake-cli`,
      version: '2.0.1',
      checkedAgainst: '2.0.0',
      login: { state: 'yes', by: 'FAKE_KEY' },
    },
  )
  t.like(of('worker')[0], { level: 'ok' })
  t.false(stdout.includes('very-secret'))
  t.is(of('off').length, 0)
})

test('one that is not logged in is 78, with the command that mends it; a key that does not reach it is told', async t => {
  const place = placeOf(t)
  place.write('budgets.json', { instances: { worker: fake(place, { keys: ['OTHER_KEY'], how: 'fake-cli login' }) } })
  const { status, json, of } = await doctor(place, narrow(place, { OTHER_KEY: 'x' }))
  t.is(status, 78)
  t.deepEqual(loginOf(json), { state: 'no', how: 'fake-cli login', withheld: ['OTHER_KEY'] })
  const [told] = of('worker')
  t.like(told, { level: 'problem', mend: 'fake-cli login' })
  t.regex(told?.sentence ?? '', /not logged in.*OTHER_KEY is set, but does not reach it/)
  const { stdout } = await errand(place, ['doctor'], narrow(place))
  t.regex(stdout, /problem +worker +.*not logged in.*\n +→ fake-cli login\n/)
})

test('the CLI itself tells, in the environment of its turns, without a terminal or a browser; so does a file', async t => {
  const place = placeOf(t)
  const script =
    '[ "$*" = "auth status" ] && [ "$FAKE_QUIET" = 1 ] && [ "$BROWSER" = true ] && [ -z "$(cat)" ] && [ -z "$ERRAND_TOKEN" ]'
  const login = { keys: [], status: ['auth', 'status'], files: ['~/.fake/login'], how: 'fake-cli login' }
  place.write('budgets.json', { instances: { worker: fake(place, login, script) } })
  const asked = await doctor(place)
  t.is(asked.status, 0, asked.stdout)
  t.deepEqual(loginOf(asked.json), { state: 'yes', by: '`fake-cli auth status`' })
  place.write('budgets.json', { instances: { worker: fake(place, login) } })
  t.is((await doctor(place)).status, 78)
  place.write('.fake/login', '{}')
  t.deepEqual(loginOf((await doctor(place)).json), { state: 'yes', by: '~/.fake/login' })
})

test('a program or a folder that is missing, and an old version', async t => {
  const place = placeOf(t)
  const engine = fake(place, undefined, 'exit 1', { checkedAgainst: '2.1.0' })
  const missing = { ...engine, cli: 'no-such-cli' }
  place.write('budgets.json', { instances: { a: missing, b: { ...engine, cwd: 'gone' }, c: engine } })
  const { status, of } = await doctor(place)
  t.is(status, 78)
  t.like(of('a')[0], { level: 'problem', mend: 'npm install -g fake-cli' })
  t.like(of('b')[0], { level: 'problem', mend: `mkdir -p ${place.folder}/gone` })
  const old = of('c').find(({ sentence }) => sentence.includes('older than 2.1.0'))
  t.like(old, { level: 'warning', mend: 'npm install -g fake-cli' })
})

test('inside a turn the errand that leads PATH is the right one', async t => {
  const place = placeOf(t, { worker: shell('errand doctor --json') })
  const { stdout } = await errand(place, ['talk', 'worker', 'hi'])
  const findings: readonly Told[] = JSON.parse(stdout).findings
  t.like(
    findings.find(({ about }) => about === 'errand'),
    { level: 'ok' },
  )
})

test('an engine that has prices of its own is priced by itself', async t => {
  const place = placeOf(t)
  const engine = fake(place, undefined)
  const file = path.join(place.folder, 'fake.mjs')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('tellsUsd: true,', 'price: () => 7,'))
  place.write('budgets.json', { instances: { worker: engine } })
  const { of } = await doctor(place)
  t.is(of('worker')[0]?.sentence, 'could run now: fake, priced by the engine')
})

test('a file with mistakes and a budget that is used up keep the exit status of the table', async t => {
  const place = placeOf(t, { worker: shell('cat', { budget: { turns: 0 } }) })
  await errand(place, ['check'])
  const { status, of } = await doctor(place)
  t.is(status, 77)
  t.regex(of('worker').at(-1)?.sentence ?? '', /^Budget exhausted: /)
  place.write('budgets.json', { instances: { worker: { engine: 'command' } } })
  t.is((await doctor(place)).status, 65)
})

test('modes of our own files that are open to others are told, and closed by --fix', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  await errand(place, ['check'])
  const secret = stateFile(place, 'secret')
  fs.chmodSync(secret, 0o644)
  fs.chmodSync(path.dirname(secret), 0o755)
  const before = await doctor(place)
  t.is(before.status, 77)
  t.like(before.of('secret')[0], { level: 'problem' })
  t.deepEqual(
    before.of('state folder').map(({ mend }) => mend),
    [`chmod 0700 ${path.dirname(secret)}`, `chmod 0600 ${secret}`],
  )
  const after = await doctor(place, {}, '--fix')
  t.is(after.status, 0, after.stdout)
  t.is(after.json.mended.length, 2)
  t.is(fs.statSync(secret).mode & 0o777, 0o600)
  t.is(fs.statSync(path.dirname(secret)).mode & 0o777, 0o700)
  t.deepEqual((await doctor(place, {}, '--fix')).json.mended, [])
})

const unusable: Readonly<Record<string, (state: string) => void>> = {
  'a file': state => fs.writeFileSync(state, ''),
  'a link to nothing': state => fs.symlinkSync('/nowhere/at/all', state),
  'a link to itself': state => fs.symlinkSync(state, state),
  'in a file': state => {
    fs.rmSync(path.dirname(state), { recursive: true })
    fs.writeFileSync(path.dirname(state), '')
  },
}

for (const [what, spoil] of Object.entries(unusable)) {
  test(`a state folder that is ${what} is told as any other problem`, async t => {
    const place = placeOf(t, { worker: shell('cat') })
    await errand(place, ['check'])
    const state = path.dirname(stateFile(place, 'secret'))
    fs.rmSync(state, { recursive: true })
    spoil(state)
    for (const more of [[], ['--fix']]) {
      const { status, stdout, json } = await doctor(place, {}, ...more)
      t.is(status, 77, stdout)
      t.true(
        json.findings.some(({ level, sentence }: { level: string; sentence: string }) => {
          return level === 'problem' && sentence.includes(state)
        }),
        stdout,
      )
    }
  })
}

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('what a host that was killed left behind is told, and cleaned up by --fix', async t => {
  const place = placeOf(t, { worker: shell('echo $$ > pid; sleep 1000') })
  const { child } = await startUp(t, place)
  const talk = start(place, ['talk', 'worker', 'hi'])
  await until('the turn runs', () => fs.existsSync(path.join(place.folder, 'pid')) && place.read('pid').trim() !== '')
  const pid = Number(place.read('pid'))
  child.kill('SIGKILL')
  await talk.ended
  await until('the host is gone', () => !lives(child.pid ?? 0))
  if (lives(pid)) {
    const { status, of } = await doctor(place)
    t.is(status, 0)
    t.like(of('registry')[0], { level: 'warning', mend: 'errand doctor --fix' })
    t.regex(of('orphans')[0]?.sentence ?? '', new RegExp(`\\b${pid}\\b`))
    t.regex(of('turns')[0]?.sentence ?? '', /of worker is open/)
    t.true(lives(pid), 'looking ended it')
  }
  const { json, of } = await doctor(place, {}, '--fix')
  t.regex(json.mended.join('\n'), /Turn [0-9a-f]{16} of worker was ended.*\nThe entry of worker .* is dropped/)
  t.is(of('orphans').length + of('turns').length, 0)
  t.false(lives(pid))
})

const withStore = (t: ExecutionContext, place: Place, sql: string) => {
  const db = new DatabaseSync(stateFile(place, 'errand.db'))
  t.notThrows(() => db.exec(sql))
  db.close()
}

test('a clock that was set back, and a store that cannot be trusted', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  await errand(place, ['check'])
  t.like((await doctor(place)).of('clock')[0], { level: 'ok' })
  const later = Date.now() + 86_400_000
  withStore(
    t,
    place,
    `INSERT INTO credits (scope, window, kind, microUsd, createdAtMs) VALUES ('worker', 'total', 'add', 1, ${later})`,
  )
  const jumped = await doctor(place)
  t.like(jumped.of('clock')[0], { level: 'warning' })
  t.is(jumped.status, 0)
  fs.truncateSync(stateFile(place, 'errand.db'), 0)
  const damaged = await doctor(place)
  t.is(damaged.status, 70)
  t.regex(damaged.of('store')[0]?.sentence ?? '', /cannot be trusted/)
})

test('inside a turn it looks, and mends nothing', async t => {
  const place = placeOf(t, { worker: shell('errand doctor --fix 2>&1; echo "status $?"') })
  const { stdout } = await errand(place, ['talk', 'worker', 'hi'])
  t.regex(stdout, /^errand: `errand doctor --fix` is for the operator: .*\nstatus 77\n$/)
})
