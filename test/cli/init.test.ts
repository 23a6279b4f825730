import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { errand, type Place, placeOf, shell } from './errand.ts'

/** Installs what looks like these CLIs, each of a version, and none logged in by itself. */
const installed = (place: Place, ...names: readonly string[]) => {
  const bin = path.join(path.dirname(place.folder), 'bin')
  fs.mkdirSync(bin, { recursive: true })
  for (const name of names) {
    fs.writeFileSync(path.join(bin, name), '#!/bin/sh\n[ "$1" = --version ] && echo 9.9.9 || exit 1\n', { mode: 0o755 })
  }
  return (keys: Readonly<Record<string, string>> = {}) => ({ environment: { PATH: `${bin}:/usr/bin:/bin`, ...keys } })
}

test('with nothing installed it writes an example that runs, and says so', async t => {
  const place = placeOf(t)
  const with_ = installed(place)
  const told = await errand(place, ['init'], with_())
  t.is(told.status, 0, told.stderr)
  t.true(told.stdout.startsWith(`${place.folder}/budgets.json is written.\nNo provider CLI was found`))
  t.deepEqual(fs.readdirSync(place.folder), ['budgets.json'])
  t.like(await errand(place, ['check'], with_()), { status: 0, stderr: '' })
  t.is((await errand(place, ['talk', 'worker', 'hi'], with_())).stdout, 'You asked:\nhi\n')
})

test('two that are logged in: a reviewer, and a worker that it may ask', async t => {
  const place = placeOf(t)
  const with_ = installed(place, 'claude', 'codex', 'gemini')
  const keys = { ANTHROPIC_API_KEY: 'secret-a', CODEX_API_KEY: 'secret-c' }
  const { status, stdout } = await errand(place, ['init', '--json'], with_(keys))
  t.is(status, 0)
  const json = JSON.parse(stdout)
  t.like(json, {
    success: true,
    file: `${place.folder}/budgets.json`,
    example: false,
    instances: [
      { instance: 'reviewer', engine: 'claude', peers: [] },
      { instance: 'worker', engine: 'codex', peers: ['reviewer'] },
    ],
  })
  t.like(json.skipped[0], { engine: 'gemini' })
  t.regex(json.skipped[0].why, /^not logged in/)
  t.regex(json.next.join('\n'), /instances\.worker: no model is named/)
  const written = place.read('budgets.json')
  t.notRegex(written + stdout, /secret-/)
  t.like(JSON.parse(written), { budget: { usd: 5 }, instances: { worker: { access: 'read', maxTurnUsd: 0.25 } } })
  t.is((await errand(place, ['check'], with_(keys))).status, 0)
})

test('one that is logged in is the worker', async t => {
  const place = placeOf(t)
  await errand(place, ['init'], installed(place, 'claude')({ ANTHROPIC_API_KEY: 'a' }))
  t.deepEqual(Object.keys(JSON.parse(place.read('budgets.json')).instances), ['worker'])
})

test('a file that is there is left as it is, unless forced', async t => {
  const place = placeOf(t, { mine: shell('cat') })
  const before = place.read('budgets.json')
  const with_ = installed(place)
  const refused = await errand(place, ['init', '--json'], with_())
  t.is(refused.status, 65)
  t.like(JSON.parse(refused.stdout), { success: false, errorCode: 'invalid_request' })
  t.regex(refused.stderr, /is there already.*errand init --force/)
  t.is(place.read('budgets.json'), before)
  t.is((await errand(place, ['init', '--force'], with_())).status, 0)
  t.not(place.read('budgets.json'), before)
  t.deepEqual(fs.readdirSync(place.folder), ['budgets.json'])
})

test('a folder that is named is made, and one that cannot be is told', async t => {
  const place = placeOf(t)
  const with_ = installed(place)
  t.is((await errand(place, ['init', '--config', 'agents/budgets.json'], with_())).status, 0)
  t.like(JSON.parse(place.read('agents/budgets.json')), { instances: { worker: { engine: 'command' } } })
  place.write('file', '')
  const failed = await errand(place, ['init', '--config', 'file/budgets.json'], with_())
  t.is(failed.status, 77)
  t.regex(
    failed.stderr,
    /^errand: .*file\/budgets\.json cannot be written \(a file stands where its folder should be\)/,
  )
})

test('inside a turn nothing is written', async t => {
  const place = placeOf(t, { worker: shell('cd sub && errand init 2>&1; echo "status $?"') })
  fs.mkdirSync(path.join(place.folder, 'sub'))
  const { stdout } = await errand(place, ['talk', 'worker', 'hi'])
  t.regex(stdout, /for the operator.*\nstatus 77\n$/)
  t.deepEqual(fs.readdirSync(path.join(place.folder, 'sub')), [])
})
