import test from 'ava'
import { forgiveTurn } from '../../src/budget/corrections.ts'
import { addCredit } from '../../src/budget/credits.ts'
import { lastEnded, latestMomentMs, leftOpen } from '../../src/budget/left-open.ts'
import { ownersOfOpenTurns } from '../../src/budget/recover.ts'
import { turnRecord, turnRecords, turnTree } from '../../src/budget/turns.ts'
import { maxTurnMicroUsd } from '../../src/protocol/money.ts'
import { left, right } from '../store/folder.ts'
import { budget, charge, ended, entry, openDesk, usd } from './desk.ts'

test('turns are told newest first, of one instance or of all, and as trees', async t => {
  const { ledger, store, clock } = await openDesk(t)
  right(await ledger.enter(entry('a', { instance: 'reviewer', model: 'm' }), true)())
  right(await ledger.enter(entry('b', { root: 'a', parent: 'a', from: 'reviewer', depth: 2 }), true)())
  right(await ledger.started('b', { pid: 7, startTime: 's' })())
  right(await ledger.seen('b', usd(0.01), 30)())
  t.is(right(await turnRecord(store, clock.nowMs, 'b')())?.tokens, 30, 'as far as seen')
  clock.nowMs += 1500
  right(await ledger.settle({ ...ended('b', usd(0.02)), tokens: 40, answer: 'fine', session: 's1', model: 'x' })())
  right(await ledger.enter(entry('c'), false)())

  const all = right(await turnRecords(store, { limit: 2 })())
  t.deepEqual(
    all.map(({ turn, state }) => [turn, state]),
    [
      ['c', 'waiting'],
      ['b', 'done'],
    ],
  )
  t.deepEqual(
    right(await turnRecords(store, { limit: 10, instance: 'reviewer' })()).map(({ turn }) => turn),
    ['a'],
  )
  const [root, child] = right(await turnTree(store, 'a')())
  t.is(root?.turn, 'a')
  t.deepEqual(
    { ...child },
    {
      turn: 'b',
      root: 'a',
      parent: 'a',
      instance: 'worker',
      from: 'reviewer',
      depth: 2,
      engine: 'command',
      model: 'x',
      session: 's1',
      state: 'done',
      createdAtMs: clock.nowMs - 1500,
      startedAtMs: clock.nowMs - 1500,
      endedAtMs: clock.nowMs,
      outcome: 'success',
      costMicroUsd: usd(0.02),
      basis: 'reported',
      tokens: 40,
    },
  )
  t.is(right(await turnRecord(store, clock.nowMs, 'b')())?.answer, 'fine')
})

test('a turn is found by the beginning of its id, where that is no other’s', async t => {
  const { ledger, store, clock } = await openDesk(t)
  for (const turn of ['ab1', 'ab2', 'b%', 'ab']) right(await ledger.enter(entry(turn, { instance: turn }), true)())
  const find = (id: string) => turnRecord(store, clock.nowMs, id)()
  t.is(right(await find('ab1'))?.turn, 'ab1')
  t.is(right(await find('ab'))?.turn, 'ab', 'a whole id is never a beginning')
  t.is(right(await find('b'))?.turn, 'b%')
  t.is(right(await find('%')), undefined)
  t.is(right(await find('zz')), undefined)
  const refusal = left(await find('a'))
  t.is(refusal.code, 'invalid_request')
  t.regex(refusal.sentence, /More than one turn begins with "a"/)
})

test('an answer is kept for a day, cut at a character', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const answered = async (turn: string, answer: string) => {
    right(await ledger.enter(entry(turn), true)())
    right(await ledger.settle({ ...ended(turn, 0), answer })())
    return right(await turnRecord(store, clock.nowMs, turn)())?.answer
  }
  t.is(await answered('a', 'x'.repeat(300_000)), 'x'.repeat(262_144))
  t.is(await answered('b', `x${'é'.repeat(200_000)}`), `x${'é'.repeat(131_071)}`)
  t.is(await answered('c', `xx${'😀'.repeat(70_000)}`), `xx${'😀'.repeat(65_535)}`)
  t.is(await answered('d', ''), '')
  t.is(await answered('e', 'a\0b\ud800c'), 'a\ufffdb\ufffdc')
  const answerOf = async (turn: string) => right(await turnRecord(store, clock.nowMs, turn)())?.answer
  clock.nowMs += 24 * 60 * 60 * 1000 - 1
  t.is(await answerOf('d'), '')
  clock.nowMs += 1
  t.false('answer' in (right(await turnRecord(store, clock.nowMs, 'd')()) ?? {}))
  t.is(await answered('f', 'new'), 'new')
  clock.nowMs -= 1
  t.is(await answerOf('a'), undefined, 'it is gone, not only hidden')
})

test('what is added to a budget counts in its window, and only there', async t => {
  const { ledger, store, clock, state } = await openDesk(t)
  const limits = { budget: { microUsd: usd(1), per: 'day' } } as const
  const add = (microUsd: number) => addCredit(store, clock.nowMs, { scope: 'worker', microUsd, per: 'day' })()
  await charge(ledger, entry('a', { limits }), usd(1.2))
  right(await add(usd(0.1)))
  t.regex(left(await ledger.enter(entry('b', { limits }), true)()).sentence, /\$1\.2000 used of \$1\.10\./)
  right(await add(usd(0.4)))
  t.like(await state({ instance: 'worker', ...limits }), { limitMicroUsd: usd(1.5), spentMicroUsd: usd(1.2) })
  t.deepEqual(right(await ledger.enter(entry('c', { limits }), true)()), {
    state: 'running',
    allowance: { microUsd: usd(0.3) },
  })
  clock.nowMs += 24 * 60 * 60 * 1000
  t.like(await state({ instance: 'worker', ...limits }), { limitMicroUsd: usd(1), spentMicroUsd: 0, heldMicroUsd: 0 })
  for (const wrong of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, maxTurnMicroUsd + 1])
    t.deepEqual(left(await add(wrong)), {
      code: 'invalid_request',
      sentence: 'What is added to a budget is more than $0 and at most $10,000.',
    })
  right(await add(maxTurnMicroUsd))
})

test('a budget that is not limited tells what was spent in all, and no limit', async t => {
  const { state } = await openDesk(t)
  t.deepEqual(await state({ instance: 'worker' }), {
    instance: 'worker',
    per: 'total',
    window: 'total',
    spentMicroUsd: 0,
    heldMicroUsd: 0,
    tokens: 0,
    turns: 0,
    unknownTurns: 0,
  })
  t.like(await state({ instance: 'worker', budget: { per: 'month', turns: 3, tokens: 0 } }), {
    window: '2026-12',
    limitTurns: 3,
    limitTokens: 0,
  })
})

test('how a budget stands has the warning of a settle, from 80 % on', async t => {
  const { ledger, state } = await openDesk(t)
  const worker = { instance: 'worker', budget: { microUsd: usd(1), per: 'day' } } as const
  await charge(ledger, entry('a'), usd(0.79))
  t.false('warning' in (await state(worker)))
  await charge(ledger, entry('b'), usd(0.01))
  t.is((await state(worker)).warning, 'Budget of worker: $0.8000 used of $1.00 (day).')
})

test('what is noted of a turn is noted of it alone, from its begin to its settle', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const limits = budget({ microUsd: usd(1) }, { maxTurnMicroUsd: usd(0.4) })
  for (const turn of ['a', 'b']) right(await ledger.enter(entry(turn, { limits }), true)())
  right(await ledger.enter(entry('waits', { limits }), false)())
  const note = async (turn: string, pid: number, dollars: number, tokens: number) => {
    right(await ledger.started(turn, { pid, startTime: 's' })())
    right(await ledger.seen(turn, usd(dollars), tokens)())
  }
  await note('a', 1, 0.1, 10)
  right(await ledger.ending('a')())
  right(await ledger.ending('waits')())
  await note('a', 2, 0.2, 20)
  await note('waits', 3, 0.3, 30)
  const told = async () =>
    right(await turnRecords(store, { limit: 10 })()).map(({ turn, state, tokens, startedAtMs }) => [
      ...[turn, state, tokens, startedAtMs],
    ])
  const atMs = clock.nowMs
  t.deepEqual(await told(), [
    ['waits', 'waiting', 0, undefined],
    ['b', 'running', 0, atMs],
    ['a', 'ending', 20, atMs],
  ])
  t.deepEqual(right(await leftOpen(store, ['host'])()), [
    { turn: 'a', instance: 'worker', process: { pid: 2, startTime: 's' } },
    { turn: 'b', instance: 'worker' },
  ])
  right(await ledger.settle(ended('a', 0, 'unknown', 'timeout'))())
  clock.nowMs += 1000
  await note('a', 4, 0.4, 40)
  right(await ledger.ending('a')())
  t.deepEqual((await told())[2], ['a', 'done', 20, atMs])
  t.is(right(await forgiveTurn(store, clock.nowMs, 'a')()).microUsd, usd(0.2), 'what came after is not seen any more')
})

test('the model that a turn is said to have run on takes the place of the one that was asked for', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const model = async (turn: string, told: object) => {
    right(await ledger.enter(entry(turn, { model: 'asked' }), true)())
    right(await ledger.settle({ ...ended(turn, 0), ...told })())
    return right(await turnRecord(store, clock.nowMs, turn)())?.model
  }
  t.is(await model('a', { model: 'told' }), 'told')
  t.is(await model('b', {}), 'asked')
})

test('who has turns open is known without a registry', async t => {
  const { ledger, store } = await openDesk(t)
  right(await ledger.enter(entry('a', { owner: 'one' }), true)())
  right(await ledger.enter(entry('more', { owner: 'one' }), true)())
  right(await ledger.enter(entry('b', { owner: 'two' }), false)())
  await charge(ledger, entry('c', { owner: 'three' }), 0)
  t.deepEqual(right(await ownersOfOpenTurns(store)()).toSorted(), ['one', 'two'])
})

test('all turns under the root of one are its family, oldest first', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(entry('a'), true)())
  right(await ledger.enter(entry('b', { root: 'a', parent: 'a', instance: 'helper', owner: 'other' }), true)())
  right(await ledger.enter(entry('c', { root: 'a', parent: 'b', instance: 'third' }), false)())
  right(await ledger.enter(entry('else', { instance: 'helper' }), true)())
  right(await ledger.settle(ended('b', 0, 'none', 'timeout'))())
  const family = [
    { turn: 'a', instance: 'worker', owner: 'host', state: 'running' },
    { turn: 'b', parent: 'a', instance: 'helper', owner: 'other', state: 'done', outcome: 'timeout' },
    { turn: 'c', parent: 'b', instance: 'third', owner: 'host', state: 'waiting' },
  ]
  for (const turn of ['a', 'b', 'c'])
    t.deepEqual(
      right(await ledger.family(turn)()).map(row => ({ ...row })),
      family,
    )
  t.deepEqual(right(await ledger.family('nobody')()), [])
})

test('who wants a turn ended is told to its own host, until it is done', async t => {
  const { ledger } = await openDesk(t)
  right(await ledger.enter(entry('a'), true)())
  right(await ledger.enter(entry('b', { owner: 'other' }), false)())
  right(await ledger.enter(entry('c'), true)())
  const asked = async (owner: string) => right(await ledger.askedToEnd(owner)()).map(row => ({ ...row }))
  right(await ledger.askToEnd('a', 'reviewer')())
  right(await ledger.askToEnd('b', 'operator')())
  right(await ledger.askToEnd('nobody', 'operator')())
  t.deepEqual(await asked('host'), [{ turn: 'a', by: 'reviewer' }])
  t.deepEqual(await asked('other'), [{ turn: 'b', by: 'operator' }])
  right(await ledger.settle(ended('a', 0, 'none', 'cancelled'))())
  t.deepEqual(await asked('host'), [])
})

test('open turns hold up who takes their place until a minute after they must be over, and no longer', async t => {
  const { ledger, clock } = await openDesk(t)
  const queueTimeoutMs = 5000
  const open = async (owner = 'host', instance = 'worker') =>
    right(await ledger.openOf([owner, 'never was'], instance, queueTimeoutMs)())
  right(await ledger.enter(entry('runs', { timeoutMs: 10_000 }), true)())
  right(await ledger.enter(entry('waits'), false)())
  right(await ledger.enter(entry('theirs', { owner: 'other' }), true)())
  await charge(ledger, entry('done'), 0)
  t.is(await open(), 2)
  t.is(await open('other'), 1)
  t.is(await open('host', 'helper'), 0)
  clock.nowMs += 60_000 + queueTimeoutMs - 1
  t.is(await open(), 2)
  clock.nowMs += 1
  t.is(await open(), 1, 'the one that waited is stuck')
  clock.nowMs += 4999
  t.is(await open(), 1)
  clock.nowMs += 1
  t.is(await open(), 0)
})

test('the latest moment that the store knows of, whatever it was of', async t => {
  const { ledger, store, clock } = await openDesk(t)
  const latest = async () => right(await latestMomentMs(store)())
  t.is(await latest(), undefined)
  const first = clock.nowMs
  // Each is done once late and once early, as by a clock that was set back.
  const both = async (what: string, change: (turn: string, nowMs: number) => Promise<unknown>): Promise<void> => {
    const lateMs = clock.nowMs + 1000
    for (const [turn, nowMs] of [
      ['late', lateMs],
      ['early', first],
    ] as const) {
      clock.nowMs = nowMs
      await change(turn, nowMs)
      t.is(await latest(), lateMs, `${what} ${turn}`)
    }
    clock.nowMs = lateMs
  }
  await both('waits', async turn => right(await ledger.enter(entry(turn, { instance: turn }), false)()))
  await both('begins', async turn => right(await ledger.hold(entry(turn, { instance: turn }))()))
  await both('ends', async turn => right(await ledger.settle(ended(turn, 0))()))
  await both('gets money', async (scope, nowMs) =>
    right(await addCredit(store, nowMs, { scope, microUsd: 1, per: 'day' })()),
  )
  await both('hosts', async (owner, nowMs) => right(await store.write(sql => sql.run(insertHost, owner, nowMs))()))
})

test('of very many turns that a host ended, the last are looked after', async t => {
  const { store } = await openDesk(t)
  right(await store.write(sql => sql.run(insertDone))())
  const turns = right(await lastEnded(store, ['host'])())
  t.is(turns[0], 't5000')
  t.true(turns.length < 5000)
})

const insertDone = `
  INSERT INTO turns (turn, root, instance, sender, depth, engine, state, owner, tokenDigest, limits, createdAtMs)
  WITH RECURSIVE counted(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM counted WHERE at < 5000)
  SELECT 't' || at, 'r', 'worker', 'operator', 1, 'command', 'done', 'host', 'd', '{}', 0 FROM counted`

const insertHost = `
  INSERT INTO hosts (owner, bootId, pidNamespace, pid, startTime, startedAtMs) VALUES (?, 'b', 'n', 1, 's', ?)`
