import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import test from 'ava'
import type * as E from 'fp-ts/lib/Either.js'
import { number, type } from 'io-ts/lib/index.js'
import { openRoot } from '../../src/budget/roots.ts'
import { turnRecords } from '../../src/budget/turns.ts'
import type { Failure } from '../../src/protocol/failure.ts'
import { storeFile } from '../../src/store/open-store.ts'
import { left, right } from '../store/folder.ts'
import { budget, charge, type Desk, ended, entry, openDesk, usd } from './desk.ts'

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
  ['limits that are no JSON', `UPDATE turns SET limits = '{'`, 'limits as JSON'],
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

test('a count below nothing, where some other program wrote one, is refused wherever it would become money', async t => {
  const cases: readonly (readonly [sql: string, read: (desk: Desk) => Promise<E.Either<Failure, unknown>>])[] = [
    ['UPDATE balances SET spentMicroUsd = -1', ({ ledger }) => ledger.enter(entry('b', { limits }), true)()],
    ['UPDATE balances SET heldMicroUsd = -1', ({ ledger }) => ledger.enter(entry('b', { limits }), true)()],
    [`UPDATE turns SET limits = '{"budget":{"per":"total","microUsd":-1}}'`, settle],
    [`UPDATE turns SET limits = '{"maxTurnMicroUsd":-1}'`, settle],
    ['UPDATE turns SET heldMicroUsd = -1', settle],
    ['UPDATE turns SET heldTokens = -1', settle],
    ['UPDATE turns SET seenMicroUsd = -1', settle],
    ['UPDATE turns SET seenTokens = -1', settle],
    ['UPDATE turns SET tokens = -1', settle],
    ['UPDATE turns SET creditsBefore = -1', settle],
    ['UPDATE turns SET costMicroUsd = -1', ({ store }) => turnRecords(store, { limit: 1 })()],
    ['UPDATE turns SET seenTokens = -1', ({ store }) => turnRecords(store, { limit: 1 })()],
    ['UPDATE turns SET depth = -1', ({ ledger }) => ledger.proved('digest of a')()],
    ['UPDATE turns SET deadlineAtMs = -1', ({ ledger }) => ledger.proved('digest of a')()],
    ['UPDATE turns SET pid = -1', ({ ledger }) => ledger.abandoned(['host'])()],
    ['UPDATE roots SET limitMicroUsd = -1', ({ ledger }) => ledger.enter(entry('b', { root: 'R' }), true)()],
    ['UPDATE threads SET totalMicroUsd = -1', ({ ledger }) => ledger.enter(entry('b', { thread: 't' }), true)()],
    ['UPDATE threads SET totalTokens = -1', ({ ledger }) => ledger.enter(entry('b', { thread: 't' }), true)()],
  ]
  for (const [sql, read] of cases) {
    const desk = await openDesk(t)
    right(await openRoot(desk.store, { root: 'R', limitMicroUsd: usd(1) }, 0)())
    right(await desk.ledger.enter(entry('first', { thread: 't' }), true)())
    right(await desk.ledger.settle({ ...ended('first', 0), threadEnd: { session: 's' } })())
    right(await desk.ledger.enter(entry('a', { limits }), true)())
    right(await desk.ledger.started('a', { pid: 4711, startTime: '99' })())
    // What a program may write that does not check as SQLite does by itself.
    const file = new DatabaseSync(desk.store.file)
    file.exec('PRAGMA ignore_check_constraints = ON')
    file.exec(sql)
    file.close()
    const refusal = left(await read(desk))
    t.is(refusal.code, 'session_state', sql)
    t.regex(refusal.sentence, /a non-negative integer/, sql)
  }
})

const settle = ({ ledger }: Desk) => ledger.settle(ended('a', usd(0.05)))()

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
