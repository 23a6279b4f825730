import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import * as t from 'io-ts/lib/index.js'
import { errand, type Place, placeOf, shell, stateFile } from '../test/cli/errand.ts'
import { send } from '../test/fixtures/http.ts'
import { until } from './measure.ts'
import { talkTo, type Up, up } from './up.ts'

const said = t.intersection([
  t.type({ success: t.boolean, text: t.string }),
  t.partial({ error: t.string, errorCode: t.string, retryable: t.boolean }),
])

const placeFor = (x: ExecutionContext): Place =>
  placeOf(x, {
    worker: shell('cat; touch started; while [ -e hold ]; do sleep 0.02; done', {
      budget: { usd: 1 },
      price: { perTurn: 0.01 },
      maxTurnUsd: 0.1,
    }),
  })

const ask = async (bus: Up) => {
  const { json, text } = await talkTo(bus, 'worker', 'hi')
  if (!said.is(json)) throw new Error(text)
  return json
}

const healthOf = async ({ ports }: Up): Promise<unknown> => {
  const begun = performance.now()
  const { json } = await send(ports['worker'] ?? 0, { method: 'GET', path: '/api/health' })
  if (performance.now() - begun > 3000) throw new Error('the health took its time')
  return Reflect.get(Object(json), 'status')
}

const spentUsd = async (place: Place): Promise<unknown> =>
  JSON.parse((await errand(place, ['budget', '--json'])).stdout)[0].spentUsd

/** Mounts a file system of 2 MB. */
const mountSmall = (folder: string): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', folder]).status === 0
const unmount = (folder: string) => spawnSync('umount', ['-l', folder])

// Only root may, and not in every container.
const mayMount = (): boolean => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'errand-mount-'))
  const mounted = mountSmall(folder)
  if (mounted) unmount(folder)
  fs.rmSync(folder, { recursive: true })
  return mounted
}
const onSmallDisk = mayMount() ? test : test.skip

/** The state of this place is on a small disk of its own. */
const smallDisk = (x: ExecutionContext, place: Place): void => {
  fs.mkdirSync(place.stateHome, { recursive: true })
  x.true(mountSmall(place.stateHome))
  x.teardown(() => unmount(place.stateHome))
}

onSmallDisk(
  'a full disk: the turn that runs is answered, new talks are refused with the mend, the health says so, and nothing is lost',
  async x => {
    const place = placeFor(x)
    smallDisk(x, place)
    const bus = await up(x, place, ['worker'])
    x.true((await ask(bus)).success)
    place.write('hold', '')
    fs.rmSync(path.join(place.folder, 'started'))
    const running = ask(bus)
    await until('it runs', () => fs.existsSync(path.join(place.folder, 'started')))
    const filler = path.join(place.stateHome, 'filler')
    const fill = (): void => {
      const file = fs.openSync(filler, 'a')
      try {
        for (;;) fs.writeSync(file, Buffer.alloc(1024))
      } catch {
        fs.closeSync(file)
      }
    }
    fill()
    fs.rmSync(path.join(place.folder, 'hold'))
    x.like(await running, { success: true, text: 'hi' })
    // The log and what SQLite has in hand may have left a page or two.
    fill()
    const refused = await ask(bus)
    x.is(refused.success, false)
    x.true(refused.retryable)
    x.is(await healthOf(bus), 'refusing')
    fs.rmSync(filler)
    await until('it takes talks again', async () => (await healthOf(bus)) === 'ok', 10_000)
    x.true((await ask(bus)).success)
    x.is(await spentUsd(place), 0.03)
  },
)

onSmallDisk('a full disk where nothing runs is told of, and seen by the health, too', async x => {
  const place = placeFor(x)
  smallDisk(x, place)
  const bus = await up(x, place, ['worker'])
  const filler = path.join(place.stateHome, 'filler')
  spawnSync('sh', ['-c', 'cat /dev/zero > "$0"', filler])
  const refused = await ask(bus)
  x.like(refused, { success: false, errorCode: 'internal_error', retryable: true })
  x.regex(refused.error ?? '', /No space is left for .*errand\.db.*free some space/)
  x.is(await healthOf(bus), 'refusing')
  fs.rmSync(filler)
  x.is(await healthOf(bus), 'ok')
  x.true((await ask(bus)).success)
  x.is(await spentUsd(place), 0.01)
})

onSmallDisk(
  'a disk that is read-only refuses with the mend, and what was spent is there again when it can be written',
  async x => {
    const place = placeFor(x)
    smallDisk(x, place)
    x.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
    const remount = (how: string) => spawnSync('mount', ['-o', `remount,${how}`, place.stateHome]).status
    x.is(remount('ro'), 0)
    const refused = await errand(place, ['talk', 'worker', 'hi'])
    x.not(refused.status, 0)
    x.is(refused.stdout, '')
    x.true(refused.stderr.includes(place.stateHome), refused.stderr)
    x.is(remount('rw'), 0)
    x.is(await spentUsd(place), 0.01)
    x.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
    x.is(await spentUsd(place), 0.02)
  },
)

test('a database that another program locks is waited for, then told of; the health answers within a second', async x => {
  const place = placeFor(x)
  const bus = await up(x, place, ['worker'])
  x.true((await ask(bus)).success)
  const locker = new DatabaseSync(stateFile(place, 'errand.db'))
  locker.exec('BEGIN IMMEDIATE')
  const refused = await ask(bus)
  x.like(refused, { success: false, errorCode: 'internal_error', retryable: true })
  x.regex(refused.error ?? '', /locked by another program; end that program/)
  x.is(await healthOf(bus), 'refusing')
  locker.exec('ROLLBACK')
  locker.close()
  x.is(await healthOf(bus), 'ok')
  x.true((await ask(bus)).success)
})

const spoilt: Readonly<Record<string, readonly [spoil: (file: string) => void, mend: RegExp]>> = {
  damaged: [file => fs.writeFileSync(file, Buffer.alloc(8192, 0xff)), /Put a good copy in its place/],
  empty: [file => fs.writeFileSync(file, ''), /Put a good copy in its place/],
  deleted: [file => fs.rmSync(file), /Put a good copy in its place/],
  'of another program': [file => changed(file, 'PRAGMA application_id = 7'), /Put a good copy in its place/],
  newer: [file => changed(file, 'PRAGMA user_version = 999'), /upgrade errand/],
}

const changed = (file: string, sql: string): void => {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}

for (const [how, [spoil, mend]] of Object.entries(spoilt)) {
  test(`a store that is ${how}: nothing is launched, the sentence says the mend, and a good copy is all that it takes`, async x => {
    const place = placeFor(x)
    const first = await up(x, place, ['worker'])
    x.true((await ask(first)).success)
    await first.kill('SIGTERM')
    const file = stateFile(place, 'errand.db')
    fs.copyFileSync(file, `${file}.good`)
    spoil(file)
    for (const args of [['up'], ['talk', 'worker', 'hi'], ['budget']]) {
      const { status, stderr } = await errand(place, args)
      x.is(status, 70, args[0])
      x.regex(stderr, mend, args[0])
      x.true(stderr.includes(file), stderr)
    }
    for (const left of ['', '-wal', '-shm']) fs.rmSync(`${file}${left}`, { force: true })
    fs.renameSync(`${file}.good`, file)
    const again = await up(x, place, ['worker'])
    x.true((await ask(again)).success)
    x.is(await spentUsd(place), 0.02)
  })
}
