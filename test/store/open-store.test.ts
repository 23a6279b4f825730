import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import * as t from 'io-ts/lib/index.js'
import { openStore, storeFile } from '../../src/store/open-store.ts'
import { migrations } from '../../src/store/schema.ts'
import { secretFile } from '../../src/store/secret.ts'
import { startChild } from './child.ts'
import { left, opened, right, testFolder } from './folder.ts'

const modeOf = (file: string): number => fs.statSync(file).mode & 0o777

test('the first start makes folder, store and secret for this user alone', async x => {
  const folder = path.join(testFolder(x), 'deep', 'state')
  await opened(x, folder)
  x.is(modeOf(folder), 0o700)
  for (const file of fs.readdirSync(folder)) x.is(modeOf(path.join(folder, file)), 0o600, file)
  x.deepEqual(
    fs.readdirSync(folder).filter(file => !file.startsWith('errand.db-')),
    ['errand.db', 'secret'],
  )
})

test('what was written is there after a new start', async x => {
  const folder = testFolder(x)
  const first = await opened(x, folder)
  right(await first.write(sql => sql.run(`INSERT INTO balances (scope, window, tokens) VALUES ('a', 'total', 7)`))())
  first.close()
  const second = await opened(x, folder)
  x.deepEqual(right(await second.read(sql => sql.one(t.type({ tokens: t.number }), 'SELECT tokens FROM balances'))()), {
    tokens: 7,
  })
})

test('several first starts at once make one store and one secret', async x => {
  const folder = path.join(testFolder(x), 'state')
  const children = [1, 2, 3, 4].map(() => startChild(x, new URL('programs/first-start.ts', import.meta.url), [folder]))
  for (const child of children) x.is(await child.line(), 'ready')
  for (const child of children) child.say('go')
  const secrets = new Set<string>()
  for (const child of children) {
    const [store, secret] = JSON.parse(await child.line())
    x.is(store._tag, 'Right', JSON.stringify(store))
    secrets.add(secret.right)
  }
  x.is(secrets.size, 1)
  x.regex([...secrets].join(), /^[0-9a-f]{64}$/)
})

const spoilt: Readonly<Record<string, (file: string) => void>> = {
  deleted: file => fs.rmSync(file),
  empty: file => fs.truncateSync(file, 0),
  'cut short': file => fs.truncateSync(file, 5000),
  'full of text': file => fs.writeFileSync(file, '{"used": 0}\n'.repeat(1000)),
  'full of zeros': file => fs.writeFileSync(file, Buffer.alloc(8192)),
  'a folder': file => {
    fs.rmSync(file)
    fs.mkdirSync(file)
  },
  'a symbolic link': file => {
    fs.renameSync(file, `${file}.elsewhere`)
    fs.symlinkSync(`${file}.elsewhere`, file)
  },
  'of another program': file => change(file, 'PRAGMA application_id = 1'),
  'without an application_id': file => change(file, 'PRAGMA application_id = 0'),
  'a new SQLite file': file => {
    fs.rmSync(file)
    change(file, 'CREATE TABLE other (a)')
  },
  'of version 0': file => change(file, 'PRAGMA user_version = 0'),
}

const change = (file: string, sql: string): void => {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}

for (const [how, spoil] of Object.entries(spoilt)) {
  test(`a store that is ${how} is refused, and left as it is`, async x => {
    const folder = testFolder(x)
    right(await openStore(folder)()).close()
    spoil(storeFile(folder))
    const before = fs.statSync(storeFile(folder), { throwIfNoEntry: false })
    const refusal = left(await openStore(folder)())
    x.is(refusal.code, 'session_state')
    x.true(refusal.sentence.includes(storeFile(folder)), refusal.sentence)
    const after = fs.statSync(storeFile(folder), { throwIfNoEntry: false })
    x.deepEqual([after?.size, after?.mtimeMs], [before?.size, before?.mtimeMs])
  })
}

test('a store of a newer version is refused with the way out', async x => {
  const folder = testFolder(x)
  right(await openStore(folder)()).close()
  change(storeFile(folder), `PRAGMA user_version = ${migrations.length + 1}`)
  const refusal = left(await openStore(folder)())
  x.is(refusal.code, 'session_state')
  x.regex(refusal.sentence, /upgrade errand/)
})

test('a damaged table does not read as empty', async x => {
  const folder = testFolder(x)
  right(await openStore(folder)()).close()
  change(storeFile(folder), 'DROP TABLE balances')
  const store = await opened(x, folder)
  const refusal = left(await store.read(sql => sql.one(t.type({}), 'SELECT * FROM balances'))())
  x.is(refusal.code, 'session_state')
})

test('a first start that broke off before the secret begins again', async x => {
  const folder = testFolder(x)
  fs.writeFileSync(storeFile(folder), '')
  const store = await opened(x, folder)
  x.is(right(await store.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 'total')`))()), 1)
})

test('a store whose secret was removed is kept, and gets a new one', async x => {
  const folder = testFolder(x)
  const first = await opened(x, folder)
  right(await first.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 'total')`))())
  first.close()
  fs.rmSync(secretFile(folder))
  const second = await opened(x, folder)
  x.is(right(await second.read(sql => sql.all(t.type({}), 'SELECT * FROM balances'))()).length, 1)
  x.true(fs.existsSync(secretFile(folder)))
})

test('another program that holds the lock is waited for, then told', async x => {
  const folder = testFolder(x)
  const store = await opened(x, folder, { lockedSpanMs: 60 })
  const patient = await opened(x, folder, { lockedSpanMs: 60_000 })
  const locker = startChild(x, new URL('programs/lock.ts', import.meta.url), [storeFile(folder)])
  x.is(await locker.line(), 'locked')

  const insert = (scope: string) =>
    patient.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES (?, 't')`, scope))()
  const waiting = insert('a')
  const refusal = left(await store.write(sql => sql.run('DELETE FROM balances'))())
  x.is(refusal.code, 'internal_error')
  x.regex(refusal.sentence, /locked/)
  x.deepEqual(right(await store.read(sql => sql.all(t.type({}), 'SELECT * FROM balances'))()), [], 'reading goes on')

  locker.say('enough')
  x.is(right(await waiting), 1)
})

test('where the disk takes no more, a change is refused whole and what stands there stays', x => {
  const folder = testFolder(x)
  const program = fileURLToPath(new URL('programs/fill.ts', import.meta.url))
  const node = spawnSync('sh', ['-c', 'ulimit -f 2000; exec "$0" "$1" "$2"', process.execPath, program, folder])
  const { written, refusal, count } = JSON.parse(node.stdout.toString())
  x.is(refusal.code, 'internal_error')
  x.true(refusal.sentence.includes(storeFile(folder)), refusal.sentence)
  x.true(written > 5, 'the store could be made')
  x.deepEqual(count.right, { n: 2 * written })
})

test('a store that is deleted or replaced while it is open is noticed', async x => {
  const folder = testFolder(x)
  const store = await opened(x, folder)
  const insert = () => store.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 't')`))()
  const look = () => store.read(sql => sql.all(t.type({}), 'SELECT * FROM balances'))()
  fs.renameSync(storeFile(folder), `${storeFile(folder)}.away`)
  x.is(left(await insert()).code, 'session_state')
  x.is(left(await look()).code, 'session_state')
  fs.copyFileSync(`${storeFile(folder)}.away`, storeFile(folder))
  x.is(left(await insert()).code, 'session_state')
  fs.renameSync(`${storeFile(folder)}.away`, storeFile(folder))
  x.is(right(await insert()), 1)
})

test('a store whose log, or the index of that, is deleted or replaced while it is open is noticed', async x => {
  for (const end of ['-wal', '-shm']) {
    const folder = testFolder(x)
    // As some copies are: it becomes one with a log when it is opened.
    right(await openStore(folder)()).close()
    const copy = new DatabaseSync(storeFile(folder))
    copy.exec('PRAGMA journal_mode = DELETE')
    copy.close()
    const store = await opened(x, folder)
    const insert = () => store.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 't')`))()
    const part = storeFile(folder) + end
    fs.renameSync(part, `${part}.away`)
    const refused = left(await insert())
    x.is(refused.code, 'session_state', end)
    x.true(refused.sentence.includes(`errand.db${end} was deleted or replaced`), refused.sentence)
    fs.copyFileSync(`${part}.away`, part)
    x.is(left(await insert()).code, 'session_state', end)
    x.is(left(await store.sound()()).code, 'session_state', end)
    fs.renameSync(`${part}.away`, part)
    x.is(right(await insert()), 1, end)
  }
})

test('what a query throws is rolled back, and a bug stays a bug', async x => {
  const store = await opened(x, testFolder(x))
  const bug = new Error('a bug')
  await x.throwsAsync(
    store.write(sql => {
      sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 't')`)
      throw bug
    }),
    { is: bug },
  )
  x.deepEqual(right(await store.read(sql => sql.all(t.type({}), 'SELECT * FROM balances'))()), [])
  x.is(right(await store.write(sql => sql.run(`INSERT INTO balances (scope, window) VALUES ('a', 't')`))()), 1)
})

test('a row that does not fit its codec is no number', async x => {
  const store = await opened(x, testFolder(x))
  const read = (sql: string) => store.read(q => q.one(t.type({ n: t.Int }), sql))()
  for (const bad of [
    `SELECT 'NaN' AS n`,
    'SELECT 0.5 AS n',
    'SELECT NULL AS n',
    'SELECT 9223372036854775807 AS n',
    'SELECT 1e999 AS n',
  ])
    x.is(left(await read(bad)).code, 'session_state', bad)
})

test('a closed store says so', async x => {
  const store = await opened(x, testFolder(x))
  store.close()
  store.close()
  const refusal = left(await store.read(sql => sql.all(t.type({}), 'SELECT 1'))())
  x.is(refusal.code, 'internal_error')
  x.regex(refusal.sentence, /closed/)
})
