import fs from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { errand, lives, type Place, placeOf, type Running, shell, start, startUp } from './errand.ts'

/** Notes its process, and does not come to an end. */
const stays = (name: string): string => `echo $$ > ${name}.pid; echo begun; sleep 600 & wait`

const pidOf = (place: Place, name: string): number | undefined => {
  const file = `${place.folder}/${name}.pid`
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  return text.endsWith('\n') ? Number(text) : undefined
}

/** Waits for its turn as long as the talk that it is for goes on. */
const runs = async (place: Place, name: string, talk: Running): Promise<number> => {
  let ended: string | undefined
  void talk.ended.then(ran => {
    ended = JSON.stringify(ran)
  })
  for (;;) {
    const pid = pidOf(place, name)
    if (pid !== undefined) return pid
    if (ended !== undefined) throw new Error(`The talk ended before ${name} ran: ${ended}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

interface Turn {
  readonly turn: string
  readonly instance: string
  readonly outcome: string | null
  readonly endedAt: string | null
}

const turns = async (place: Place): Promise<readonly Turn[]> =>
  JSON.parse((await errand(place, ['log', '--json'])).stdout)

const turnOf = async (place: Place, instance: string): Promise<string> =>
  (await turns(place)).find(one => one.instance === instance)?.turn ?? ''

test('a cancel from another shell ends a turn and what it delegated to another process', async t => {
  const place = placeOf(t, {
    reviewer: shell(`echo $$ > reviewer.pid; errand talk worker deep < /dev/null`),
    worker: shell(stays('worker'), { peers: ['reviewer'] }),
  })
  await startUp(t, place, 'worker')
  await startUp(t, place, 'reviewer')
  const talk = start(place, ['talk', 'reviewer', 'hi', '--json'])
  const pids = [await runs(place, 'reviewer', talk), await runs(place, 'worker', talk)]
  const turn = await turnOf(place, 'reviewer')

  const { status, stdout } = await errand(place, ['cancel', turn.slice(0, 8)])
  t.is(status, 0)
  t.is(stdout, `Turn ${turn} of reviewer was ended, with the turn under it.\n`)
  for (const pid of pids) t.false(lives(pid))
  const talked = await talk.ended
  t.is(talked.status, 70)
  t.like(JSON.parse(talked.stdout), { success: false, errorCode: 'cancelled', ext: { turn } })
  t.deepEqual(
    (await turns(place)).map(({ outcome }) => outcome),
    ['cancelled', 'cancelled'],
  )

  const again = await errand(place, ['cancel', turn, '--json'])
  t.is(again.status, 0)
  t.like(JSON.parse(again.stdout), { success: true, text: `Turn ${turn} of reviewer was over already (cancelled).` })
})

test('a talk that waits in another process leaves the line with the turn that made it', async t => {
  const place = placeOf(t, {
    reviewer: shell('echo $$ > reviewer.pid; errand talk worker deep < /dev/null'),
    worker: shell(stays('worker'), { peers: ['reviewer'] }),
  })
  await startUp(t, place, 'worker')
  await startUp(t, place, 'reviewer')
  const holder = start(place, ['talk', 'worker', 'first'])
  const pid = await runs(place, 'worker', holder)
  const talk = start(place, ['talk', 'reviewer', 'hi'])
  await runs(place, 'reviewer', talk)
  const queued = async () =>
    JSON.parse((await errand(place, ['ps', '--json'])).stdout).map((one: Record<string, unknown>) => one['queued'])
  while (!(await queued()).includes(1));

  const turn = await turnOf(place, 'reviewer')
  t.is((await errand(place, ['cancel', turn])).stdout, `Turn ${turn} of reviewer was ended, with the turn under it.\n`)
  t.is((await talk.ended).status, 70)
  t.deepEqual(await queued(), [0, 0])
  t.true(lives(pid))
  t.is((await errand(place, ['cancel', await turnOf(place, 'worker')])).status, 0)
  t.is((await holder.ended).status, 70)
  t.false(lives(pid))
})

const refused = async (t: ExecutionContext, id: string): Promise<void> => {
  const place = placeOf(t, { worker: shell('cat') })
  const { status, stdout, stderr } = await errand(place, ['cancel', id])
  t.is(status, 65)
  t.is(stdout, '')
  t.regex(stderr, /^errand: There is no turn whose id begins with/)
}

test('a turn that nobody knows is not cancelled', async t => {
  await refused(t, 'ffff')
  await refused(t, '')
})

test('inside a turn a cancel is by its token: what it asked for, and nothing else', async t => {
  const place = placeOf(t, {
    worker: shell(stays('worker'), { peers: ['reviewer'] }),
    reviewer: shell(
      [
        'errand talk worker deep < /dev/null > child.txt 2>&1 &',
        'while [ ! -s worker.pid ]; do sleep 0.05; done',
        `child=$(errand log --json | sed 's/.*"turn":"\\([0-9a-f]*\\)","root":"[0-9a-f]*","parent":"[0-9a-f].*/\\1/')`,
        'errand cancel $ERRAND_TURN 2>&1; echo "status $?"; errand cancel $child 2>&1; echo "status $?"; wait; cat child.txt',
      ].join('\n'),
    ),
  })
  const { stdout } = await errand(place, ['talk', 'reviewer', 'hi'])
  t.regex(
    stdout,
    /^errand: This turn token of reviewer ends only.*\nstatus 77\nTurn [0-9a-f]{16} of worker was ended\.\nstatus 0\n[\s\S]*cancelled by turn [0-9a-f]{16} of reviewer/,
  )
})
