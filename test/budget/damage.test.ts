import fs from 'node:fs'
import test from 'ava'
import { number, type } from 'io-ts/lib/index.js'
import { storeFile } from '../../src/store/open-store.ts'
import { left, right } from '../store/folder.ts'
import { budget, charge, ended, entry, openDesk, usd } from './desk.ts'

const numbered = type({ page: number })
const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.1) })

test('damaged pages refuse talks; they never read as an empty budget', async t => {
  const { ledger, store, folder } = await openDesk(t)
  await charge(ledger, entry('a', { limits }), usd(0.5))
  const ofTables = "SELECT rootpage AS page FROM sqlite_master WHERE rootpage > 0 AND tbl_name IN ('balances', 'turns')"
  const damaged = right(await store.read(db => db.all(numbered, ofTables).map(({ page }) => page))())
  store.close()
  const pages = fs.readFileSync(storeFile(folder))
  for (const page of damaged) pages.fill(0xff, (page - 1) * 4096, page * 4096)
  fs.writeFileSync(storeFile(folder), pages)
  const again = await openDesk(t, folder)
  t.is(left(await again.ledger.enter(entry('b', { limits }), true)()).code, 'session_state')
  t.is(left(await again.ledger.enter(entry('c'), true)()).code, 'session_state')
})

for (const [what, sql, names] of [
  ['limits that are no JSON', `UPDATE turns SET limits = '{'`, 'limits'],
  ['limits that are no limits', `UPDATE turns SET limits = '{"budget":{"per":"week"}}'`, 'limits'],
  ['a basis that is none', `UPDATE turns SET basis = 'free'`, 'basis'],
  ['a balance that is gone', 'DELETE FROM balances', 'the balance of worker for total is gone'],
] as const) {
  test(`${what}: nothing is settled by guess, and the hold stays`, async t => {
    const { ledger, store } = await openDesk(t)
    right(await ledger.enter(entry('a', { limits }), true)())
    right(await store.write(db => db.run(sql))())
    const refusal = left(await ledger.settle(ended('a', usd(0.05)))())
    t.is(refusal.code, 'session_state')
    t.true(refusal.sentence.includes(store.file), refusal.sentence)
    t.true(refusal.sentence.includes(names), refusal.sentence)
    t.deepEqual(
      right(await ledger.abandoned(['host'])()).map(({ turn }) => turn),
      ['a'],
    )
  })
}

test('a store that is taken away refuses the settle, which can be made again when it is back', async t => {
  const { ledger, store, state } = await openDesk(t)
  right(await ledger.enter(entry('a', { limits }), true)())
  fs.renameSync(store.file, `${store.file}.away`)
  t.is(left(await ledger.settle(ended('a', usd(0.05)))()).code, 'session_state')
  t.is(left(await ledger.enter(entry('b', { limits }), true)()).code, 'session_state')
  fs.renameSync(`${store.file}.away`, store.file)
  t.is(right(await ledger.settle(ended('a', usd(0.05)))()).microUsd, usd(0.05))
  t.like(await state({ instance: 'worker' }), { spentMicroUsd: usd(0.05), heldMicroUsd: 0 })
})
