import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { engineNames, loadEngine } from '../../src/engine/load.ts'
import { errand, placeOf, shell } from './errand.ts'

test('a sound file whose instances could run', async t => {
  const place = placeOf(t, {
    worker: shell('cat'),
    off: { engine: 'command', command: ['no-such-program-here'], budget: { usd: 1 }, enabled: false },
  })
  const { status, stdout, stderr } = await errand(place, ['check'])
  t.is(status, 0)
  t.is(stderr, '')
  t.is(stdout, `${place.folder}/budgets.json is sound; worker (command) could run now.\n`)
  t.deepEqual(JSON.parse((await errand(place, ['check', '--json'])).stdout), {
    success: true,
    mistakes: [],
    warnings: [],
  })
})

test('everything that keeps instances from running is told at once', async t => {
  const place = placeOf(t, {
    a: { engine: 'command', command: ['no-such-program-here'] },
    b: shell('cat', { cwd: 'gone' }),
    c: { engine: './no-engine.ts' },
  })
  const { status, stdout, stderr } = await errand(place, ['check'])
  t.not(status, 0)
  t.is(stdout, '')
  for (const part of ['no-such-program-here', `${place.folder}/gone`, 'no-engine.ts'])
    t.true(stderr.includes(part), part)
  const told = JSON.parse((await errand(place, ['check', '--json'])).stdout)
  t.is(told.success, false)
  t.true(told.mistakes.length >= 3)
})

test('what is unwise is a warning, and no reason to fail', async t => {
  const place = placeOf(t, { worker: shell('cat', { peers: ['nobody-here'] }) })
  const { status, stderr } = await errand(place, ['check'])
  t.is(status, 0)
  t.regex(stderr, /^errand: warning: .*nobody-here/)
})

test('a limit in dollars that one turn may use up is a warning', async t => {
  const place = placeOf(t, { worker: shell('cat', { budget: { usd: 1 } }) })
  const { status, stderr } = await errand(place, ['check'])
  t.is(status, 0)
  t.regex(stderr, /^errand: warning: instances\.worker .* no maxTurnUsd: .*cut off is charged with all of it/)
  place.write('budgets.json', { instances: { worker: shell('cat', { budget: { usd: 1 }, maxTurnUsd: 0.1 }) } })
  t.is((await errand(place, ['check'])).stderr, '')
})

test('a model without a price is told beforehand, for every engine that tells no dollars', async t => {
  const loaded = await Promise.all(engineNames.map(async name => [name, await loadEngine(name, '/')()] as const))
  const silent = loaded.flatMap(([name, engine]) =>
    E.isRight(engine) && engine.right.tellsUsd !== true && engine.right.output === 'json' ? [name] : [],
  )
  t.true(silent.includes('codex'))
  const more = { maxTurnUsd: 0.1, budget: { usd: 1 } }
  const of = (name: string) => ({
    [name]: { engine: name, ...more },
    [`${name}-odd`]: { engine: name, model: 'no-such-model-1', ...more },
    [`${name}-own`]: { engine: name, price: { inputPerMTok: 1, outputPerMTok: 2 }, ...more },
  })
  const place = placeOf(t, Object.assign({}, ...engineNames.filter(name => name !== 'command').map(of)))
  const { warnings } = JSON.parse((await errand(place, ['check', '--json'])).stdout)
  const told = warnings.flatMap((text: string) => /^instances\.(\S+): no (?:model|price)/.exec(text)?.[1] ?? [])
  t.deepEqual(told.toSorted(), silent.flatMap(name => [name, `${name}-odd`]).toSorted())
})

test('docs/budgets.md tells every key', async t => {
  const docs = fs.readFileSync(new URL('../../docs/budgets.md', import.meta.url), 'utf8')
  const wrong = { zzzzzzzz: 1 }
  const place = placeOf(t)
  const all = { ...wrong, budget: wrong, bus: wrong, instances: { a: { engine: 'x', ...wrong, price: wrong } } }
  place.write('budgets.json', all)
  const { stderr } = await errand(place, ['check'])
  const known = [...stderr.matchAll(/Known here: (.*)\./g)].flatMap(([, keys = '']) => keys.split(', '))
  t.true(known.length > 35, stderr)
  for (const key of known) t.true(docs.includes(`\`${key}\``) || docs.includes(`"${key}"`), key)
})

test('the budgets.json of this checkout is sound, and switching an engine is one word', async t => {
  const place = placeOf(t)
  const checkout = fileURLToPath(new URL('../..', import.meta.url))
  fs.cpSync(path.join(checkout, 'examples'), path.join(place.folder, 'examples'), { recursive: true })
  const text = fs.readFileSync(path.join(checkout, 'budgets.json'), 'utf8')
  place.write('budgets.json', text)
  t.like(await errand(place, ['check']), { status: 0, stderr: '' })

  place.write('budgets.json', text.replace('"engine": "command"', '"engine": "claude"'))
  place.write('bin/claude', '#!/bin/sh\n')
  fs.chmodSync(path.join(place.folder, 'bin/claude'), 0o755)
  const environment = { PATH: `${path.join(place.folder, 'bin')}:${place.environment['PATH']}` }
  const switched = await errand(place, ['check'], { environment })
  t.is(switched.status, 0, switched.stderr)
  t.true(switched.stdout.includes('reviewer (claude)'))
})
