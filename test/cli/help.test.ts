import test from 'ava'
import { errand, placeOf } from './errand.ts'

const commands = ['up', 'talk', 'fan', 'chain', 'verify', 'ps', 'budget', 'log', 'check', 'cancel', 'stop']

test('errand alone prints its help', async t => {
  const { status, stdout, stderr } = await errand(placeOf(t), [])
  t.is(status, 0)
  t.is(stderr, '')
  t.true(stdout.includes('Examples:'))
  for (const command of commands) t.regex(stdout, new RegExp(`^  ${command}\\b`, 'm'))
})

test('every command has a help with examples', async t => {
  const place = placeOf(t)
  for (const args of [...commands.map(command => [command]), ['budget', 'add']]) {
    const { status, stdout } = await errand(place, [...args, '--help'])
    t.is(status, 0, args.join(' '))
    t.regex(stdout, new RegExp(`^Usage: errand ${args.join(' ')}`), args.join(' '))
    t.true(stdout.includes(`Examples:\n  errand ${args.join(' ')}`), args.join(' '))
    t.true(stdout.includes('--json'), args.join(' '))
  }
  t.is((await errand(place, ['help', 'talk'])).stdout, (await errand(place, ['talk', '--help'])).stdout)
})

test('--version prints the version of the package', async t => {
  const { status, stdout } = await errand(placeOf(t), ['--version'])
  t.is(status, 0)
  t.regex(stdout, /^\d+\.\d+\.\d+\n$/)
})

const wrong: readonly (readonly [readonly string[], RegExp])[] = [
  [['tlak', 'worker'], /unknown command 'tlak'[\s\S]*Did you mean talk\?/],
  [['talk'], /missing required argument 'name'/],
  [['talk', 'worker', '--jsno'], /unknown option '--jsno'[\s\S]*Did you mean --json\?/],
  [['talk', 'worker', 'hi', '--depth', 'deep'], /--depth.*'deep' is invalid.*0 or more/],
  [['talk', 'worker', 'hi', '--retry', '-1'], /--retry/],
  [
    ['talk', 'worker', 'hi', '--timeout', 'soon'],
    /--timeout must be a time such as 90s, 10m or 1h, at most 24d, not "soon"/,
  ],
  [['ps', 'worker'], /too many arguments/],
  [['log', '--limit', 'x'], /--limit/],
  [['log', '--limit', '0'], /--limit.*1 or more/],
  [['log', ''], /TURN must be the id of a turn, or its beginning, not an empty string/],
  [['budget', 'add', 'worker'], /missing required argument 'usd'/],
  [['budget', 'add', 'worker', '-1'], /dollars/],
  [['budget', 'add', 'worker', '1e3'], /dollars/],
]

for (const [args, sentence] of wrong) {
  test(`a wrong command line is 64: errand ${args.join(' ')}`, async t => {
    const place = placeOf(t, { worker: { engine: 'command', command: ['cat'] } })
    const { status, stdout, stderr } = await errand(place, args)
    t.is(status, 64)
    t.is(stdout, '')
    t.regex(stderr, sentence)
    t.regex(stderr, /^errand: /)
  })
}
