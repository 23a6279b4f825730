import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { errand, isPlain, lives, placeOf, shell, start, until } from './errand.ts'

const pays = (usd: number) => `echo '{"usd":${usd}}' >> "$ERRAND_REPORT"`
const broken = shell('echo "no disk" >&2; exit 3')

test('fan prints every answer, and warns of what failed', async t => {
  const place = placeOf(t, { a: shell(`${pays(0.01)}; cat; echo " a"`), b: shell('cat; echo " b"'), broken })
  const ran = await errand(place, ['fan', 'two', 'words', '--to', 'a,b'], { input: 'piped' })
  t.deepEqual(ran, {
    status: 0,
    stdout: '== a ==\ntwo words\n\npiped a\n\n== b ==\ntwo words\n\npiped b\n\n',
    stderr: '',
  })
  const partly = await errand(place, ['fan', 'x', '--to', 'broken,a', '--json'])
  t.is(partly.status, 0)
  t.regex(partly.stderr, /^errand: warning: broken: .*no disk/)
  const told = JSON.parse(partly.stdout)
  t.like(told, { success: true, costUsd: 0.01 })
  t.deepEqual(
    told.branches.map(({ to, envelope }: { to: string; envelope: { success: boolean } }) => [to, envelope.success]),
    [
      ['broken', false],
      ['a', true],
    ],
  )
  const failed = await errand(place, ['fan', 'x', '--to', 'broken,broken'])
  t.is(failed.status, 75)
  t.is(failed.stdout, '')
  t.is(failed.stderr.split('\n').filter(line => /^errand: broken: .*no disk/.test(line)).length, 2)
})

test('--budget bounds all of it together', async t => {
  const place = placeOf(t, { a: shell(`${pays(0.1)}; cat`, { maxTurnUsd: 0.1, concurrency: 4 }) })
  const ran = await errand(place, ['fan', 'x', '--to', 'a,a,a,a', '--budget', '0.20', '--json'])
  t.is(ran.status, 0)
  const { branches, costUsd } = JSON.parse(ran.stdout)
  t.is(costUsd, 0.2)
  t.is(branches.filter(({ envelope }: { envelope: { success: boolean } }) => envelope.success).length, 2)
  t.regex(
    ran.stderr,
    /warning: a: Budget exhausted: \$0\.2000 used of \$0\.20\. It is the budget of this piece of work/,
  )
})

test('a budget without a cap of its turns is warned of', async t => {
  const place = placeOf(t, { a: shell('cat') })
  const { stderr } = await errand(place, ['fan', 'x', '--to', 'a', '--budget', '1'])
  t.regex(stderr, /^errand: warning: a has no maxTurnUsd, so one turn of it holds all that is left of --budget/)
})

test('chain hands each answer on, and keeps what was answered before a failure', async t => {
  const place = placeOf(t, { a: shell('cat; echo " a"'), b: shell('cat; echo " b"'), broken })
  t.is((await errand(place, ['chain', 'a', 'b', 'a', 'do it'])).stdout, 'do it a b a\n')
  t.is((await errand(place, ['chain', 'a', 'b'], { input: 'piped' })).stdout, 'piped a b\n')
  const failed = await errand(place, ['chain', 'a', 'broken', 'b', 'x'])
  t.is(failed.status, 75)
  t.is(failed.stdout, '')
  const [, turn = ''] = /a had answered: errand log ([0-9a-f]+) --text/.exec(failed.stderr) ?? []
  t.is((await errand(place, ['log', turn, '--text'])).stdout, 'x a\n')
  const misspelled = await errand(place, ['chain', 'a', 'bb', 'x'])
  t.is(misspelled.status, 65)
  t.regex(misspelled.stderr, /no instance "bb"/)
  t.is((await errand(place, ['chain', 'nobody'], { input: 'x' })).status, 65)
})

test('verify tells whether it passed', async t => {
  const judge = shell(
    `grep -q good && echo '{"verdict":"pass","reason":"ok"}' || echo '{"verdict":"fail","reason":"too bad"}'`,
  )
  const place = placeOf(t, { good: shell('echo good'), bad: shell('echo bad'), judge, vague: shell('echo hm') })
  t.deepEqual(await errand(place, ['verify', 'good', '--by', 'judge', 'x']), {
    status: 0,
    stdout: 'good\n',
    stderr: '',
  })
  const bad = await errand(place, ['verify', 'bad', '--by', 'judge', '--most', '2', 'x', '--json'])
  t.is(bad.status, 1)
  t.like(JSON.parse(bad.stdout), { passed: false, answer: 'bad' })
  t.is(JSON.parse(bad.stdout).verdicts.length, 2)
  t.regex(bad.stderr, /^errand: judge let no answer pass \(2\): too bad\n$/)
  const vague = await errand(place, ['verify', 'good', '--by', 'vague', 'x'])
  t.is(vague.status, 75)
  t.is(vague.stdout, 'good\n')
  t.regex(vague.stderr, /vague was asked twice for its verdict and gave none/)
})

test('a workflow goes on where it stopped; another one under its name is refused', async t => {
  const place = placeOf(t, {
    a: shell('echo a >> calls; cat'),
    b: shell('test -e go || exit 3; echo b >> calls; cat'),
  })
  const command = ['fan', 'x', '--to', 'a,b', '--workflow', 'nightly', '--json']
  t.regex((await errand(place, command)).stderr, /warning: b: /)
  place.write('go', '')
  const whole = await errand(place, command)
  t.is(whole.stderr, '')
  t.true(
    JSON.parse(whole.stdout).branches.every(({ envelope }: { envelope: { success: boolean } }) => envelope.success),
  )
  t.is(place.read('calls'), 'a\nb\n')
  const other = await errand(place, ['fan', 'y', '--to', 'a,b', '--workflow', 'nightly'])
  t.is(other.status, 70)
  t.regex(other.stderr, /Workflow "nightly" does not fit its record: branch 1 has another prompt than before\./)
  t.is((await errand(place, ['fan', 'y', '--to', 'a,b', '--workflow', 'nightly', '--fresh'])).status, 0)
})

test('Ctrl-C ends what runs, and leaves nothing', async t => {
  const place = placeOf(t, { a: shell('echo $$ > pid; exec sleep 300') })
  const running = start(place, ['fan', 'x', '--to', 'a,a'])
  await until('a turn runs', () => fs.existsSync(path.join(place.folder, 'pid')) && place.read('pid').endsWith('\n'))
  running.child.kill('SIGINT')
  const ran = await running.ended
  t.is(ran.status, 130)
  t.true(isPlain(ran.stderr))
  t.false(lives(Number(place.read('pid'))))
  t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
})

test('inside a turn they are ordinary talks; a budget or a record of its own is for the operator', async t => {
  const place = placeOf(t, {
    lead: shell(
      'errand fan "$(cat)" --to a,b; errand fan x --to a --budget 1; echo $?; errand fan x --to a --workflow w; echo $?',
    ),
    a: shell('cat', { peers: ['lead'] }),
    b: shell('cat', { peers: ['lead'] }),
  })
  const ran = await errand(place, ['talk', 'lead', 'hi'])
  t.is(ran.stdout, '== a ==\nhi\n\n== b ==\nhi\n\n77\n77\n')
  const turns = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.is(turns.length, 3)
  t.is(new Set(turns.map(({ root }: { root: string }) => root)).size, 1)
})

for (const [args, sentence] of [
  [['fan', 'x'], /required option '--to <names>' not specified/],
  [['fan', 'x', '--to', 'a,,b'], /names of instances with commas/],
  [['fan', 'x', '--to', 'a', '--budget', 'much'], /--budget must be dollars.*"much"/],
  [['fan', 'x', '--to', 'a', '--budget', '0'], /--budget must be dollars/],
  [['fan', 'x', '--to', 'a', '--at-once', '0'], /1 or more/],
  [['fan', 'x', '--to', 'a', '--timeout', '0s'], /--timeout must be a time/],
  [['fan', 'x', '--to', 'a', '--fresh'], /--fresh needs the --workflow/],
  [['fan', 'x', '--to', 'a', '--workflow', 'a b'], /--workflow must be a name/],
  [['chain'], /missing required argument/],
  [['verify', 'a', 'x'], /required option '--by <name>'/],
] as const) {
  test(`a wrong command line is 64: errand ${args.join(' ')}`, async t => {
    const place = placeOf(t, { a: shell('cat') })
    const { status, stdout, stderr } = await errand(place, args)
    t.is(status, 64)
    t.is(stdout, '')
    t.regex(stderr, sentence)
  })
}
