import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import test, { type ExecutionContext } from 'ava'
import { createLedger } from '../../src/budget/open-ledger.ts'
import { turnRecord, turnRecords } from '../../src/budget/turns.ts'
import { openStore, storeFile } from '../../src/store/open-store.ts'
import { applicationId, migrations } from '../../src/store/schema.ts'
import { secretFile } from '../../src/store/secret.ts'
import { type Child, startChild } from './child.ts'
import { left, opened, right, testFolder } from './folder.ts'

/** A store as the version that knows so many steps leaves it. */
const storeOfVersion = (t: ExecutionContext, version: number): string => {
  const folder = testFolder(t)
  const db = new DatabaseSync(storeFile(folder))
  db.exec('PRAGMA journal_mode = WAL')
  for (const step of migrations.slice(0, version)) db.exec(step)
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`)
  db.close()
  fs.writeFileSync(secretFile(folder), `${'0'.repeat(64)}\n`, { mode: 0o600 })
  return folder
}

const oldProcess = async (t: ExecutionContext, folder: string): Promise<Child> => {
  const child = startChild(t, new URL('programs/first-version.ts', import.meta.url), [storeFile(folder)])
  t.is(await child.line(), 'open')
  return child
}

test('a store of any earlier version is brought up, and what it holds is read', async t => {
  for (const version of migrations.keys()) {
    if (version === 0) continue
    const folder = storeOfVersion(t, version)
    const before = new DatabaseSync(storeFile(folder))
    before.exec(`INSERT INTO balances (scope, window, spentMicroUsd) VALUES ('worker', 'total', 41)`)
    before.close()
    const store = await opened(t, folder)
    const spent = right(
      await store.read(sql => sql.run('UPDATE balances SET spentMicroUsd = 42 WHERE spentMicroUsd = 41'))(),
    )
    t.is(spent, 1, `version ${version}`)
  }
})

test('a process of the first version goes on with the store that a newer one has brought up under it', async t => {
  const folder = storeOfVersion(t, 1)
  const old = await oldProcess(t, folder)
  old.say('before')
  t.is(await old.line(), 'success')
  const store = await opened(t, folder)
  const ledger = createLedger(store, { now: Date.now })
  old.say('after')
  t.is(await old.line(), 'success')
  const records = right(await turnRecords(store, { limit: 9 })())
  t.deepEqual(
    records.map(({ turn, outcome, costMicroUsd }) => [turn, outcome, costMicroUsd]),
    [
      ['after', 'success', 3],
      ['before', 'success', 3],
    ],
  )
  t.is(right(await turnRecord(store, 4, 'after')())?.answer, 'pong')

  const entry = {
    turn: 'new',
    root: 'new',
    instance: 'worker',
    from: 'operator',
    depth: 1,
    engine: 'command',
    owner: 'o',
  }
  // 6 are spent: what the old process wrote counts for the new one.
  const limits = { budget: { microUsd: 9, per: 'total' as const } }
  const entered = right(await ledger.enter({ ...entry, tokenDigest: 'n', limits, maxTurnsPerRoot: 9 }, true)())
  t.like(entered, { state: 'running', allowance: { microUsd: 3 } })
  right(await ledger.settle({ turn: 'new', cost: { microUsd: 3, basis: 'reported' }, tokens: 0, outcome: 'success' })())
  old.say('at last')
  t.is(await old.line(), 'success')
})

test('the store of a newer version refuses, says which, and is left as it is', async t => {
  const folder = storeOfVersion(t, migrations.length)
  const newer = new DatabaseSync(storeFile(folder))
  newer.exec(`CREATE TABLE tomorrow (a TEXT); PRAGMA user_version = ${migrations.length + 1}`)
  newer.close()
  const refused = left(await openStore(folder)())
  t.is(refused.code, 'session_state')
  t.regex(
    refused.sentence,
    new RegExp(
      `newer errand \\(version ${migrations.length + 1}, this one knows ${migrations.length}\\): upgrade errand\\.$`,
    ),
  )
})

test('a process that has it open goes on when a newer one brings it up, and is refused at its next start', async t => {
  const folder = storeOfVersion(t, migrations.length)
  const store = await opened(t, folder)
  const newer = new DatabaseSync(storeFile(folder))
  newer.exec(`ALTER TABLE turns ADD COLUMN tomorrow TEXT; PRAGMA user_version = ${migrations.length + 1}`)
  newer.close()
  const ledger = createLedger(store, { now: Date.now })
  const entry = { turn: 'a', root: 'a', instance: 'worker', from: 'operator', depth: 1, engine: 'command', owner: 'o' }
  const entered = await ledger.enter({ ...entry, tokenDigest: 'n', limits: {}, maxTurnsPerRoot: 9 }, true)()
  t.is(right(entered).state, 'running')
  t.is(left(await openStore(folder)()).code, 'session_state')
})
