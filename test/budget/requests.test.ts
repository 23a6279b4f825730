import test, { type ExecutionContext } from 'ava'
import * as io from 'io-ts/lib/index.js'
import type { Keyed } from '../../src/budget/requests.ts'
import { textColumn } from '../../src/store/columns.ts'
import { right } from '../store/folder.ts'
import { type Desk, ended, entry, openDesk } from './desk.ts'

const day = 24 * 60 * 60 * 1000

const keyed = (turn: string, more: Partial<Keyed> = {}): Keyed => ({
  ...{ sender: 'operator', instance: 'worker', key: 'k', bodyDigest: 'd', turn, owner: 'host' },
  ...more,
})

const desk = async (t: ExecutionContext) => {
  const { ledger, store, clock } = await openDesk(t)
  return {
    ...{ ledger, store, clock },
    claim: async (turn: string, more: Partial<Keyed> = {}) => right(await ledger.claim(keyed(turn, more))()),
    enter: async (turn: string) => right(await ledger.enter(entry(turn), true)()),
    settle: async (turn: string, keeps: string | undefined, outcome = 'success') =>
      right(await ledger.settle(ended(turn, 0, 'none', outcome), () => keeps)()),
    keys: () => keysIn(store),
  }
}

const keysIn = async (store: Desk['store']) =>
  right(await store.read(sql => sql.all(io.type({ turn: textColumn }), 'SELECT turn FROM requests'))()).map(
    ({ turn }) => turn,
  )

test('a key stands for its turn from the claim on: open, then answered; what is not to be kept sets it free', async t => {
  const { claim, enter, settle } = await desk(t)
  t.deepEqual(await claim('a'), { kind: 'new' })
  await enter('a')
  t.deepEqual(await claim('b'), { kind: 'open', turn: 'a' })
  t.deepEqual(await claim('b', { bodyDigest: 'other' }), { kind: 'conflict' })
  await settle('a', '{"a":1}')
  t.deepEqual(await claim('b'), { kind: 'answered', envelope: '{"a":1}' })
  t.deepEqual(await claim('b', { bodyDigest: 'other' }), { kind: 'conflict' })

  await claim('c', { key: 'again' })
  await enter('c')
  await settle('c', undefined, 'engine_cli')
  t.deepEqual(await claim('d', { key: 'again', bodyDigest: 'other' }), { kind: 'new' })
})

test('what a key keeps is asked for once, with what was charged; a second settle changes nothing', async t => {
  const { claim, enter, ledger } = await desk(t)
  await claim('a')
  await enter('a')
  const told: unknown[] = []
  const keeps = (settled: unknown) => `${told.push(settled)}`
  right(await ledger.settle(ended('a', 500), keeps)())
  right(await ledger.settle(ended('a', 900), keeps)())
  t.deepEqual(told, [{ microUsd: 500, basis: 'reported' }])
  t.deepEqual(await claim('b'), { kind: 'answered', envelope: '1' })
})

test('sender, instance and key together are the scope', async t => {
  const { claim, enter, keys } = await desk(t)
  await claim('a')
  await enter('a')
  for (const [turn, other] of [
    ['b', { sender: 'x' }],
    ['c', { instance: 'x' }],
    ['d', { key: 'x' }],
  ] as const)
    t.deepEqual(await claim(turn, other), { kind: 'new' })
  t.is((await keys()).length, 4)
})

test('what ends one talk leaves the keys of the others as they were', async t => {
  const { claim, enter, settle, ledger } = await desk(t)
  for (const turn of ['free', 'done', 'dropped', 'open']) {
    await claim(turn, { key: turn })
    if (turn !== 'free') await enter(turn)
  }
  right(await ledger.unclaim('free')())
  await settle('done', '{"a":1}')
  await settle('dropped', undefined, 'engine_cli')
  const again = (key: string) => claim('again', { key, owner: 'other' })
  t.deepEqual(await again('open'), { kind: 'open', turn: 'open' })
  t.deepEqual(await again('done'), { kind: 'answered', envelope: '{"a":1}' })
  await claim('claimed', { key: 'claimed' })
  right(await ledger.unclaim('free')())
  t.deepEqual(await again('claimed'), { kind: 'open', turn: 'claimed' })
})

test('a talk that became no turn sets its key free, one that did keeps it', async t => {
  const { claim, enter, ledger, keys } = await desk(t)
  await claim('a')
  right(await ledger.unclaim('a')())
  t.deepEqual(await keys(), [])
  t.deepEqual(await claim('b', { bodyDigest: 'other' }), { kind: 'new' })
  await enter('b')
  right(await ledger.unclaim('b')())
  t.deepEqual(await claim('c', { bodyDigest: 'other' }), { kind: 'open', turn: 'b' })
})

test('a key that its own host could not set free is taken up again; another host cannot know', async t => {
  const { claim } = await desk(t)
  await claim('a')
  t.deepEqual(await claim('b', { owner: 'other' }), { kind: 'open', turn: 'a' })
  t.deepEqual(await claim('b'), { kind: 'new' })
})

test('answers are kept for a day from when they were given; what is open is never forgotten', async t => {
  const { claim, enter, settle, clock, keys } = await desk(t)
  await claim('a')
  await enter('a')
  clock.nowMs += 2 * day
  t.deepEqual(await claim('b'), { kind: 'open', turn: 'a' })
  await settle('a', '{}')
  clock.nowMs += day - 1
  t.deepEqual(await claim('b'), { kind: 'answered', envelope: '{}' })
  clock.nowMs += 1
  t.deepEqual(await claim('b'), { kind: 'new' })
  t.deepEqual(await keys(), ['b'])
})

test('after the death of a host: a turn in the middle is cut, and kept so for a day; who only waited is free', async t => {
  const { claim, enter, ledger, clock, keys } = await desk(t)
  await claim('runs')
  await enter('runs')
  await claim('waits', { key: 'w' })
  right(await ledger.enter(entry('waits'), false)())
  await claim('claimed', { key: 'c' })
  await claim('others', { key: 'o', owner: 'other' })
  const open = right(await ledger.abandoned(['host'])())
  right(await ledger.settleAbandoned(open.map(({ turn }) => turn))())
  t.deepEqual((await keys()).toSorted(), ['others', 'runs'])
  t.deepEqual(await claim('b'), { kind: 'cut', turn: 'runs' })
  t.deepEqual(await claim('b', { bodyDigest: 'x' }), { kind: 'conflict' })
  t.deepEqual(await claim('b', { key: 'w' }), { kind: 'new' })
  t.deepEqual(await claim('b2', { key: 'c' }), { kind: 'new' })
  clock.nowMs += day
  t.deepEqual(await claim('b3'), { kind: 'new' })
})
