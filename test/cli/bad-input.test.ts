import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import { errand, isPlain, placeOf, type Ran, shell, start, stateFile } from './errand.ts'

/** A sentence that names what, where and what to do; no trace of our insides; the exit status of its code. */
const refusedWith = (t: ExecutionContext, ran: Ran, status: number, ...parts: readonly (string | RegExp)[]): void => {
  t.is(ran.status, status, ran.stderr)
  t.is(ran.stdout, '')
  t.true(isPlain(ran.stderr), ran.stderr)
  for (const line of ran.stderr.trimEnd().split('\n')) t.regex(line, /^errand: /)
  for (const part of parts) t.regex(ran.stderr, part instanceof RegExp ? part : new RegExp(escaped(part)))
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const worker = shell('cat')

test('no budgets.json anywhere', async t => {
  const place = placeOf(t)
  for (const args of [['ps'], ['up'], ['talk', 'worker', 'hi'], ['check'], ['budget'], ['log'], ['stop']]) {
    refusedWith(t, await errand(place, args), 65, 'budgets.json', place.folder, '--config')
  }
})

test('a budgets.json that --config or ERRAND_CONFIG names and that is not there', async t => {
  const place = placeOf(t, { worker })
  refusedWith(t, await errand(place, ['ps', '--config', 'no.json']), 65, `${place.folder}/no.json`)
  const environment = { ERRAND_CONFIG: '/nowhere/budgets.json' }
  refusedWith(t, await errand(place, ['ps'], { environment }), 65, '/nowhere/budgets.json')
})

test('a budgets.json that is no JSON tells where', async t => {
  const place = placeOf(t)
  const file = place.write('budgets.json', '{\n  "instances": {,}\n}')
  refusedWith(t, await errand(place, ['up']), 65, file, /line 2/)
})

test('everything that is wrong with a budgets.json is told at once, and nothing is made', async t => {
  const place = placeOf(t, {
    worker: { engine: 'command', command: ['cat'], budget: { usd: 'much' }, peers: 'reviewer' },
    Reviewer: { engine: 'claude', timeuot: '10m' },
  })
  const ran = await errand(place, ['up'])
  refusedWith(
    t,
    ran,
    65,
    'instances.worker.budget.usd',
    'instances.worker.peers',
    'instances.Reviewer',
    /Did you mean "timeout"/,
  )
  t.true(ran.stderr.trimEnd().split('\n').length >= 4)
  t.false(fs.existsSync(place.stateHome))
})

test('--json says the same to programs', async t => {
  const place = placeOf(t, { worker: { engine: 'command', command: ['cat'], port: 'any', peers: 1 } })
  const { status, stdout } = await errand(place, ['ps', '--json'])
  t.is(status, 65)
  const told = JSON.parse(stdout)
  t.is(told.success, false)
  t.is(told.errorCode, 'invalid_request')
  t.is(told.retryable, false)
  t.deepEqual(
    told.all.map(({ errorCode }: { errorCode: string }) => errorCode),
    ['invalid_request', 'invalid_request'],
  )
})

test('an instance that is not there, with the nearest name', async t => {
  const place = placeOf(t, { worker, reviewer: worker })
  refusedWith(t, await errand(place, ['talk', 'wroker', 'hi']), 65, '"wroker"', 'Did you mean "worker"?')
  refusedWith(t, await errand(place, ['talk', 'zzz', 'hi']), 65, '"zzz"', 'worker, reviewer')
  refusedWith(t, await errand(place, ['budget', 'wroker']), 65, 'Did you mean "worker"?')
  refusedWith(t, await errand(place, ['budget', 'add', 'wroker', '1']), 65, 'Did you mean "worker"?')
  refusedWith(t, await errand(place, ['up', 'wroker']), 65, 'Did you mean "worker"?')
})

test('a prompt that is empty', async t => {
  const place = placeOf(t, { worker })
  for (const args of [
    ['talk', 'worker'],
    ['talk', 'worker', ' '],
  ]) {
    refusedWith(t, await errand(place, args, { input: ' \n' }), 65, 'There is nothing to ask', 'pipe')
  }
})

test('a prompt that is longer than the bus takes', async t => {
  const place = placeOf(t, { worker }, { bus: { bodyLimit: 1000 } })
  refusedWith(t, await errand(place, ['talk', 'worker'], { input: 'x'.repeat(1001) }), 65, '1000 bytes', 'bodyLimit')
})

test('what is piped in and is no text', async t => {
  const place = placeOf(t, { worker: shell('touch ran; cat') })
  const binary = Buffer.from([0x7f, 0x45, 0x00, 0xff])
  refusedWith(t, await errand(place, ['talk', 'worker'], { input: binary }), 65, 'piped in', 'NUL')
  t.false(fs.existsSync(path.join(place.folder, 'ran')))
  const latin1 = await errand(place, ['talk', 'worker'], { input: Buffer.from('gr\u00fcn', 'latin1') })
  t.is(latin1.stdout, 'gr\uFFFDn\n')
  t.regex(latin1.stderr, /^errand: warning: what was piped in is not all UTF-8.*\n$/)
})

test('a --cwd that is no folder', async t => {
  const place = placeOf(t, { worker })
  const file = place.write('file', '')
  for (const cwd of ['file', 'gone']) {
    const ran = await errand(place, ['talk', 'worker', 'hi', '--cwd', cwd])
    refusedWith(t, ran, 65, '--cwd must name a folder', path.join(path.dirname(file), cwd))
  }
  t.deepEqual(JSON.parse((await errand(place, ['log', '--json'])).stdout), [])
})

test('a state folder that cannot be made', async t => {
  const place = placeOf(t, { worker })
  fs.writeFileSync(place.stateHome, 'a file where the folder should be')
  const ran = await errand(place, ['talk', 'worker', 'hi'])
  t.not(ran.status, 0)
  t.is(ran.stdout, '')
  t.true(isPlain(ran.stderr))
  t.regex(ran.stderr, new RegExp(escaped(place.stateHome)))
})

const isRoot = process.getuid?.() === 0
const unlessRoot = isRoot ? test.skip : test

unlessRoot('a state folder that may not be written', async t => {
  const place = placeOf(t, { worker })
  fs.mkdirSync(place.stateHome, { mode: 0o500 })
  const ran = await errand(place, ['talk', 'worker', 'hi'])
  refusedWith(t, ran, 77, place.stateHome)
})

test('a state folder of a newer version', async t => {
  const place = placeOf(t, { worker })
  t.is((await errand(place, ['budget'])).status, 0)
  const file = stateFile(place, 'errand.db')
  const db = new DatabaseSync(file)
  db.exec('PRAGMA user_version = 9999')
  db.close()
  for (const args of [['talk', 'worker', 'hi'], ['up'], ['ps'], ['budget'], ['log'], ['check']]) {
    refusedWith(t, await errand(place, args), 70, file, /newer/)
  }
})

test('a store that was deleted is not a new one', async t => {
  const place = placeOf(t, { worker })
  t.is((await errand(place, ['budget'])).status, 0)
  const file = stateFile(place, 'errand.db')
  fs.rmSync(file)
  refusedWith(t, await errand(place, ['talk', 'worker', 'hi']), 70, file)
})

test('a provider CLI that is missing', async t => {
  const place = placeOf(t, { worker: { engine: 'command', command: ['no-such-program-here'] } })
  refusedWith(t, await errand(place, ['talk', 'worker', 'hi']), 75, 'no-such-program-here')
})

test('a folder that is missing', async t => {
  const place = placeOf(t, { worker: { engine: 'command', command: ['cat'], cwd: 'gone' } })
  refusedWith(t, await errand(place, ['talk', 'worker', 'hi']), 75, `${place.folder}/gone`)
})

const engines: readonly (readonly [what: string, source: string, sentence: RegExp])[] = [
  ['throws as it is read', "throw new Error('boom')", /boom/],
  ['has a mistake in it', 'export default {', /engine\.mjs/],
  ['has no default export', 'export const name = 1', /default/],
  ['lacks a member', "export default { name: 'x', output: 'json', command() {}, classify() {} }", /decode/],
]

for (const [what, source, sentence] of engines) {
  test(`an engine file that ${what}`, async t => {
    const place = placeOf(t, { worker: { engine: './engine.mjs' } })
    const file = place.write('engine.mjs', source)
    for (const args of [['talk', 'worker', 'hi'], ['up'], ['check']]) {
      const ran = await errand(place, args)
      t.not(ran.status, 0, args[0])
      t.is(ran.stdout, '')
      t.true(isPlain(ran.stderr), ran.stderr)
      t.regex(ran.stderr, sentence)
      t.true(ran.stderr.includes(file), ran.stderr)
    }
  })
}

test('a mistake that nobody foresaw is a sentence, and its stack is in the log', async t => {
  const place = placeOf(t, { worker: { engine: './engine.mjs' } })
  place.write('engine.mjs', "setTimeout(() => { throw new Error('much too late') }, 0)\nawait new Promise(() => {})")
  t.is((await errand(place, ['budget'])).status, 0)
  refusedWith(t, await errand(place, ['up']), 75, 'much too late', 'the log in')
  const folder = path.dirname(stateFile(place, 'errand.db'))
  const logs = fs.readdirSync(folder).filter(name => name.endsWith('.log'))
  const said = logs.map(name => fs.readFileSync(path.join(folder, name), 'utf8')).join('')
  t.regex(said, /"stack":"Error: much too late\\n +at .*engine\.mjs/)
})

test('a reader that goes away ends nothing with a mistake', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const running = start(place, ['budget'])
  running.child.stdout?.destroy()
  t.like(await running.ended, { status: 0, stderr: '' })
})
