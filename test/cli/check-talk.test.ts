import test from 'ava'
import { errand, placeOf, shell } from './errand.ts'

const instances = {
  reviewer: shell('cat', { peers: [] }),
  helper: shell('cat', { peers: ['reviewer'] }),
  worker: shell('cat', { peers: ['helper'], maxDepth: 3 }),
  deep: shell('cat', { peers: ['worker'], maxDepth: 2 }),
  off: shell('cat', { enabled: false, peers: ['*'] }),
  spent: shell('cat', { budget: { turns: 0 }, peers: ['*'] }),
}

test('who may ask, and how deep', async t => {
  const place = placeOf(t, instances)
  const file = `${place.folder}/budgets.json`
  const told = await errand(place, ['check', '--from', 'reviewer', '--to', 'helper'])
  t.deepEqual(told, { status: 0, stdout: 'reviewer may ask helper, at depth 2.\n', stderr: '' })
  const { stdout } = await errand(place, ['check', '--to', 'worker', '--json'])
  t.deepEqual(JSON.parse(stdout), {
    success: true,
    from: 'operator',
    to: 'worker',
    depth: 1,
    file,
    chain: ['operator', 'worker'],
  })
})

const refused = [
  [['--from', 'reviewer', '--to', 'worker'], 77, 'peers', 'peer_not_allowed', ['reviewer', 'helper', 'worker']],
  [['--from', 'worker', '--to', 'reviewer'], 77, 'peers', 'peer_not_allowed', null],
  [['--from', 'reviewer', '--to', 'deep'], 77, 'peers', 'peer_not_allowed', null],
  [['--from', 'worker', '--to', 'deep', '--depth', '2'], 77, 'maxDepth', 'max_depth_exceeded', null],
  [['--from', 'worker', '--to', 'worker'], 77, 'self', 'peer_not_allowed', null],
  [['--from', 'reviewer', '--to', 'off'], 78, 'enabled', 'bus_disabled', null],
  [['--from', 'reviewer', '--to', 'spent'], 77, 'budget', 'budget_exhausted', ['reviewer', 'spent']],
] as const

for (const [args, status, rule, errorCode, chain] of refused) {
  test(`check ${args.join(' ')} names the rule, the instance and the file`, async t => {
    const place = placeOf(t, instances)
    const [, from, , to] = args
    const told = await errand(place, ['check', ...args])
    t.is(told.status, status)
    t.regex(told.stdout, new RegExp(`^${from} may not ask ${to}, at depth \\d\\.\n`))
    const { stdout, status: same } = await errand(place, ['check', ...args, '--json'])
    t.is(same, status)
    const json = JSON.parse(stdout)
    t.like(json, { success: false, from, to, rule, errorCode, retryable: false, instance: to })
    t.is(json.file, `${place.folder}/budgets.json`)
    t.deepEqual(json.chain, chain)
    if (rule === 'self') return
    t.is(json.key, `instances.${to}.${rule}`)
    t.true(json.error.includes(json.file), json.error)
    t.true(told.stderr.includes(json.error))
    t.true(told.stdout.includes(`The rule: ${json.key} in ${json.file}\n`))
    if (chain !== null && rule === 'peers') t.true(told.stdout.includes(`by way of: ${chain.join(' → ')}\n`))
  })
}

test('the exit status is that of the talk itself', async t => {
  const place = placeOf(t, instances)
  for (const [from, to] of [
    ['reviewer', 'worker'],
    ['reviewer', 'spent'],
  ] as const) {
    const [check, dry, talk] = await Promise.all([
      errand(place, ['check', '--from', from, '--to', to]),
      errand(place, ['talk', to, 'hi', '--from', from, '--dry-run']),
      errand(place, ['talk', to, 'hi', '--from', from]),
    ])
    t.deepEqual([check.status, dry.status], [talk.status, talk.status], `${from} → ${to}`)
    t.is(check.stderr, talk.stderr)
  }
})

test('inside a turn it is the turn that would ask', async t => {
  const asks = 'errand check --to helper; errand check --to worker; errand check --from worker --to deep'
  const place = placeOf(t, { ...instances, reviewer: shell(`${asks}; true`) })
  const { stdout } = await errand(place, ['talk', 'reviewer', 'hi'])
  t.regex(stdout, /^reviewer may ask helper, at depth 2\.\nreviewer may not ask worker, at depth 2\.\n/)
  t.regex(stdout, /\nworker may ask deep, at depth 2\.\n$/)
})

test('names that the file does not have', async t => {
  const place = placeOf(t, { worker: shell('cat', { peers: ['friend'] }) })
  const missing = await errand(place, ['check', '--to', 'wroker'])
  t.is(missing.status, 65)
  t.regex(missing.stderr, /has no instance "wroker"\. Did you mean "worker"\?/)
  const friend = await errand(place, ['check', '--from', 'friend', '--to', 'worker'])
  t.is(friend.status, 0)
  t.regex(friend.stderr, /^errand: warning: .* has no instance "friend"\./)
  t.is((await errand(place, ['check', '--from', 'worker'])).status, 64)
})
