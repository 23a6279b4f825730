import test from 'ava'
import { errand, placeOf, shell } from './errand.ts'

const pays = (usd: number) => `echo '{"usd":${usd},"model":"m1","tokens":7}' >> "$ERRAND_REPORT"`

const instances = {
  worker: shell(`${pays(0.02)}; cat`, { peers: ['reviewer'], budget: { usd: 2, per: 'day' } }),
  reviewer: shell(`${pays(0.01)}; errand talk worker`, { budget: { usd: 1 }, maxTurnUsd: 0.5 }),
}
const total = { budget: { usd: 5, per: 'month' } }

test('log lists the turns, newest first, and shows one with what it delegated', async t => {
  const place = placeOf(t, instances, total)
  t.is((await errand(place, ['log'])).stderr, 'No turn yet.\n')
  await errand(place, ['talk', 'reviewer', 'hello'])
  const listed = (await errand(place, ['log'])).stdout.trimEnd().split('\n')
  t.regex(listed[0] ?? '', /^TURN +STARTED +INSTANCE +FROM +DEPTH +TOOK +COST +OUTCOME$/)
  t.regex(listed[1] ?? '', /^[0-9a-f]{16} .*worker +reviewer +2 .*\$0\.0200 +success$/)
  t.regex(listed[2] ?? '', /^[0-9a-f]{16} .*reviewer +operator +1 .*\$0\.0100 +success$/)
  t.is(listed.length, 3)

  const [child, parent] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.like(parent, {
    parent: null,
    root: parent.turn,
    instance: 'reviewer',
    from: 'operator',
    depth: 1,
    engine: 'command',
  })
  t.like(parent, { model: 'm1', outcome: 'success', costUsd: 0.01, basis: 'reported', tokens: 7 })
  t.like(child, { parent: parent.turn, root: parent.turn, costUsd: 0.02 })
  t.true(Date.parse(child.startedAt) <= Date.parse(child.endedAt))

  const { stdout } = await errand(place, ['log', parent.turn.slice(0, 12)])
  t.regex(stdout, new RegExp(`^turn: +${parent.turn}$`, 'm'))
  t.regex(stdout, /^instance: +reviewer \(command, m1\)$/m)
  t.regex(stdout, /^with all that it delegated: \$0\.0300$/m)
  t.regex(
    stdout,
    new RegExp(
      `^└─ reviewer  \\$0\\.0100 \\(\\$0\\.0300 with what it delegated\\)  [\\d.]+s  success  ${parent.turn}$`,
      'm',
    ),
  )
  t.regex(stdout, new RegExp(`^   └─ worker  \\$0\\.0200  [\\d.]+s  success  ${child.turn}$`, 'm'))
  const shown = JSON.parse((await errand(place, ['log', parent.turn, '--json'])).stdout)
  t.deepEqual(
    shown.tree.map(({ turn }: { turn: string }) => turn),
    [parent.turn, child.turn],
  )
  t.deepEqual(
    shown.tree.map(({ treeCostUsd }: { treeCostUsd: number }) => treeCostUsd),
    [0.03, 0.02],
  )
  t.deepEqual(Object.keys(shown.tree[0]).sort(), [
    'basis',
    'costUsd',
    'depth',
    'endedAt',
    'engine',
    'from',
    'instance',
    'model',
    'outcome',
    'parent',
    'root',
    'session',
    'startedAt',
    'state',
    'thread',
    'tokens',
    'treeCostUsd',
    'turn',
  ])
  t.is((await errand(place, ['log', child.turn, '--text'])).stdout, 'hello\n')
  t.is(JSON.parse((await errand(place, ['log', child.turn, '--text', '--json'])).stdout).text.trimEnd(), 'hello')
  t.is((await errand(place, ['log', '--limit', '1'])).stdout.trimEnd().split('\n').length, 2)
})

test('log of a piece of work: all its branches under one head, with the budget of the whole', async t => {
  const place = placeOf(t, instances)
  const args = ['fan', 'hello', '--to', 'reviewer,worker', '--budget', '2', '--at-once', '1', '--json']
  const { root } = JSON.parse((await errand(place, args)).stdout)
  const { stdout } = await errand(place, ['log', root])
  const lines = stdout.trimEnd().split('\n')
  t.is(lines[0], `work ${root}  $0.0500 of $2.00`)
  t.regex(
    lines[1] ?? '',
    /^├─ reviewer {2}\$0\.0100 \(\$0\.0300 with what it delegated\) {2}[\d.]+s {2}success {2}[0-9a-f]{16}$/,
  )
  t.regex(lines[2] ?? '', /^│ {2}└─ worker {2}\$0\.0200 {2}[\d.]+s {2}success {2}[0-9a-f]{16}$/)
  t.regex(lines[3] ?? '', /^└─ worker {2}\$0\.0200 {2}[\d.]+s {2}success {2}[0-9a-f]{16}$/)
  t.is(lines.length, 4)
  const whole = JSON.parse((await errand(place, ['log', root.slice(0, 12), '--json'])).stdout)
  t.like(whole, { root, budgetUsd: 2, costUsd: 0.05, heldUsd: 0 })
  t.deepEqual(
    whole.tree.map(({ instance, treeCostUsd }: { instance: string; treeCostUsd: number }) => [instance, treeCostUsd]),
    [
      ['reviewer', 0.03],
      ['worker', 0.02],
      ['worker', 0.02],
    ],
  )
  const branch = await errand(place, ['log', whole.tree[2].turn])
  t.true(branch.stdout.endsWith(`work:      $0.0500 of $2.00; errand log ${root} shows it whole\n`), branch.stdout)
  t.is((await errand(place, ['log', root, '--text'])).status, 65)
})

test('a turn that nobody knows, or that has no answer', async t => {
  const place = placeOf(t, { worker: shell('exit 1') })
  const unknown = await errand(place, ['log', 'ffff'])
  t.is(unknown.status, 65)
  t.regex(unknown.stderr, /"ffff".*errand log/)
  await errand(place, ['talk', 'worker', 'hi'])
  const [turn] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  const failed = await errand(place, ['log', turn.turn, '--text'])
  t.is(failed.status, 65)
  t.regex(failed.stderr, /no answer.*engine_cli/)
  t.is((await errand(place, ['log', '--text'])).status, 64)
})

test('budget shows what is spent, held and left', async t => {
  const place = placeOf(t, instances, total)
  await errand(place, ['talk', 'reviewer', 'hello'])
  const { stdout } = await errand(place, ['budget'])
  t.regex(stdout, /^BUDGET +WINDOW +SPENT +HELD +LIMIT +LEFT +TOKENS +TURNS$/m)
  t.regex(stdout, /^worker +\d{4}-\d\d-\d\d +\$0\.0200 +\$0\.0000 +\$2\.0000 +\$1\.9800 +7 +1$/m)
  t.regex(stdout, /^reviewer +total +\$0\.0100 +\$0\.0000 +\$1\.0000 +\$0\.9900 +7 +1$/m)
  t.regex(stdout, /^\* \(all\) +\d{4}-\d\d +\$0\.0300 +\$0\.0000 +\$5\.0000 +\$4\.9700 +14 +2$/m)
  const told = JSON.parse((await errand(place, ['budget', 'worker', '--json'])).stdout)
  t.is(told.length, 1)
  t.like(told[0], { instance: 'worker', spentUsd: 0.02, heldUsd: 0, limitUsd: 2, tokens: 7, turns: 1 })
})

test('budget add lets an exhausted instance go on', async t => {
  const place = placeOf(t, { worker: shell(`${pays(0.01)}; cat`, { budget: { usd: 0.01 } }) })
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 77)
  const added = await errand(place, ['budget', 'add', 'worker', '0.50'])
  t.is(added.status, 0)
  t.regex(added.stdout, /^worker +total +\$0\.0100 +\$0\.0000 +\$0\.5100 +\$0\.5000/m)
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
})

test('there is nothing to add to where there is no limit', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const { status, stderr } = await errand(place, ['budget', 'add', 'worker', '1'])
  t.is(status, 65)
  t.regex(stderr, /worker has no limit in dollars.*budgets\.json/)
})

test('budget reset begins the window anew, and the turns stay', async t => {
  const place = placeOf(t, { worker: shell(`${pays(0.01)}; cat`, { budget: { usd: 0.01, tokens: 100 } }) })
  await errand(place, ['talk', 'worker', 'hi'])
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 77)
  await errand(place, ['budget', 'add', 'worker', '0.50'])
  const reset = await errand(place, ['budget', 'reset', 'worker'])
  t.is(reset.status, 0)
  t.regex(reset.stdout, /^worker +total +\$0\.0000 +\$0\.0000 +\$0\.0100 +\$0\.0100 +0 of 100 +0$/m)
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
  t.is(JSON.parse((await errand(place, ['log', '--json'])).stdout).length, 2)
  t.is((await errand(place, ['budget', 'reset', 'nobody'])).status, 65)
})

test('budget forgive gives back what nobody can tell was spent, once', async t => {
  const place = placeOf(t, {
    worker: shell(`${pays(0.01)}; sleep 60`, { budget: { usd: 1 }, maxTurnUsd: 0.4, timeout: '1s' }),
    honest: shell(`${pays(0.01)}; cat`, { budget: { usd: 1 } }),
  })
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 75)
  const [cut] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.like(cut, { costUsd: 0.4, basis: 'unknown' })
  const forgiven = await errand(place, ['budget', 'forgive', cut.turn.slice(0, 6)])
  t.is(forgiven.stdout, `$0.3900 given back to worker for turn ${cut.turn}.\n`)
  t.regex((await errand(place, ['log', cut.turn])).stdout, /^forgiven: +\$0\.3900$/m)
  t.is(JSON.parse((await errand(place, ['log', cut.turn, '--json'])).stdout).forgivenUsd, 0.39)
  t.like(JSON.parse((await errand(place, ['budget', 'worker', '--json'])).stdout)[0], {
    spentUsd: 0.01,
    unknownTurns: 0,
  })
  const again = await errand(place, ['budget', 'forgive', cut.turn])
  t.is(again.status, 65)
  t.regex(again.stderr, /was forgiven already/)
  await errand(place, ['talk', 'honest', 'hi'])
  const [known] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.regex((await errand(place, ['budget', 'forgive', known.turn])).stderr, /What turn \w+ cost is known \(reported\)/)
  t.is((await errand(place, ['budget', 'forgive', 'zzz'])).status, 65)
})
