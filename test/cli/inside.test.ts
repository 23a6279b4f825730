import fs from 'node:fs'
import test from 'ava'
import { errand, isPlain, placeOf, shell, startUp, stateFile } from './errand.ts'

/** Runs a command line inside a turn, and tells its exit status and all that it said. */
const tells = (commandLine: string): string => `${commandLine} 2>&1; echo "status $?"`

const refusedInside = [
  ['up', 'errand up worker'],
  ['stop', 'errand stop'],
  ['budget add', 'errand budget add worker 5'],
  ['budget reset', 'errand budget reset worker'],
  ['budget forgive', 'errand budget forgive 3f9c'],
] as const

for (const [what, commandLine] of refusedInside) {
  test(`errand ${what} is refused inside a turn`, async t => {
    const place = placeOf(t, { worker: shell(tells(commandLine), { budget: { usd: 1 } }) })
    const { stdout, status } = await errand(place, ['talk', 'worker', 'hi'])
    t.is(status, 0)
    t.regex(stdout, /^errand: .*for the operator.*inside turn [0-9a-f]{16}.*\nstatus 77\n$/)
    const [budget] = JSON.parse((await errand(place, ['budget', '--json'])).stdout)
    t.is(budget.limitUsd, 1)
  })
}

test('a turn sees what it is told of, from the budgets.json that it runs by', async t => {
  const place = placeOf(t, { worker: shell('cd / && errand ps --json') })
  const { stdout } = await errand(place, ['talk', 'worker', 'hi'])
  t.like(JSON.parse(stdout)[0], { instance: 'worker', engine: 'command', running: 1, queued: 0 })
})

test('a turn speaks as its instance, one deeper, and as nobody else', async t => {
  const place = placeOf(t, {
    worker: shell('cat', { peers: ['reviewer', 'other'] }),
    reviewer: shell(
      [
        tells('errand talk worker plain < /dev/null'),
        tells('errand talk worker forged --from other < /dev/null'),
        tells('errand talk worker forged --from operator < /dev/null'),
        tells('errand talk worker shallow --depth 0 < /dev/null'),
      ].join('; '),
    ),
    other: shell('cat'),
  })
  const { stdout } = await errand(place, ['talk', 'reviewer', 'hi'])
  t.true(isPlain(stdout))
  t.regex(
    stdout,
    /^plain\nstatus 0\nerrand: .*cannot speak as other.*\nstatus 77\nerrand: .*cannot speak as operator.*\nstatus 77\nerrand: .*depth 1, not 0.*\nstatus 65\n$/,
  )
  const turns = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.deepEqual(
    turns.map(({ instance, from, depth }: { instance: string; from: string; depth: number }) => [
      instance,
      from,
      depth,
    ]),
    [
      ['worker', 'reviewer', 2],
      ['reviewer', 'operator', 1],
    ],
  )
})

test('a turn launches nothing', async t => {
  const place = placeOf(t, {
    worker: shell('cat', { peers: ['reviewer'] }),
    reviewer: shell(tells('errand talk worker hi < /dev/null')),
  })
  await startUp(t, place, 'reviewer')
  const [{ url }] = JSON.parse((await errand(place, ['ps', '--json'])).stdout)
  // Asked past the command line, which would launch the worker beforehand.
  const answered = await fetch(`${url}/api/talk`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${fs.readFileSync(stateFile(place, 'secret'), 'utf8').trim()}`,
    },
    body: JSON.stringify({ fromInstance: 'operator', prompt: 'hi', depth: 1 }),
  })
  const { text } = JSON.parse(await answered.text())
  t.regex(text, /^errand: worker does not run, and a turn launches nothing\..*\nstatus 75\n?$/)
})

// Elsewhere one cannot look at the environment of an ancestor.
const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('a turn whose program takes the variables away is still inside', async t => {
  const place = placeOf(t, { worker: shell(tells('env -u ERRAND_TURN -u ERRAND_TOKEN errand up')) })
  const { stdout } = await errand(place, ['talk', 'worker', 'hi'])
  t.regex(stdout, /inside turn .*\nstatus 77\n$/)
})

test('a token is dead once its turn is over', async t => {
  const place = placeOf(t, {
    worker: shell('cat', { peers: ['reviewer'] }),
    reviewer: shell('echo "$ERRAND_TURN $ERRAND_TOKEN"'),
  })
  const [mark = '', token = ''] = (await errand(place, ['talk', 'reviewer', 'hi'])).stdout.trim().split(' ')
  const environment = { ERRAND_TURN: mark, ERRAND_TOKEN: token }
  const late = await errand(place, ['talk', 'worker', 'hi'], { environment })
  t.is(late.status, 77)
  t.regex(late.stderr, /^errand: .*turn.*ended/)
})
