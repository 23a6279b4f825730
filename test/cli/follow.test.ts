import test from 'ava'
import { errand, placeOf, shell, start, startUp } from './errand.ts'

test('--follow shows on stderr what happens; stdout is the answer, byte for byte', async t => {
  const place = placeOf(t, { worker: shell('printf "one "; printf "two\\033[31m"') })
  const { status, stdout, stderr } = await errand(place, ['talk', 'worker', 'hi', '--follow'])
  t.is(status, 0)
  t.is(stdout, 'one two\u001b[31m\n')
  t.regex(stderr, /worker has it as turn [0-9a-f]{16}\nworker runs\none two\n/)
  t.false(stderr.includes('\u001b'))
})

test('--follow shows a text as soon as it is said', async t => {
  const place = placeOf(t, { worker: shell('echo early; while [ ! -e go ]; do sleep 0.05; done; echo late') })
  const talk = start(place, ['talk', 'worker', 'hi', '--follow'])
  const said = await talk.says(/early/)
  t.false(said.includes('late'))
  place.write('go', '')
  t.is((await talk.ended).stdout, 'early\nlate\n')
})

test('--json --follow prints an event a line, and the envelope last', async t => {
  const place = placeOf(t, { worker: shell('echo pong') })
  await startUp(t, place, 'worker')
  const { status, stdout, stderr } = await errand(place, ['talk', 'worker', 'hi', '--follow', '--json'])
  t.is(status, 0)
  t.is(stderr, '')
  const lines = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.deepEqual(
    lines.map(({ event }) => event),
    ['accepted', 'started', 'text', undefined],
  )
  t.deepEqual(lines[2], { event: 'text', text: 'pong\n', delta: true, id: 3 })
  t.like(lines[3], { success: true, text: 'pong' })
})

test('a refusal is told the same with --follow as without', async t => {
  const place = placeOf(t, { worker: shell('cat', { budget: { usd: 0 } }) })
  const { status, stdout, stderr } = await errand(place, ['talk', 'worker', 'hi', '--follow', '--json'])
  t.is(status, 77)
  t.like(JSON.parse(stdout), { errorCode: 'budget_exhausted' })
  t.regex(stderr, /^errand: Budget exhausted/m)
})
