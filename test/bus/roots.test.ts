import test, { type ExecutionContext } from 'ava'
import { openRoot, rootState } from '../../src/budget/roots.ts'
import { turnRecords } from '../../src/budget/turns.ts'
import { newTurn } from '../../src/bus/identity.ts'
import { entry } from '../budget/desk.ts'
import { createBus, right } from '../fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'

const busOf = async (t: ExecutionContext, facts: { readonly secret?: undefined } = {}) => {
  const bus = await createBus(facts)
  t.teardown(bus.close)
  const { port } = await bus.serve('worker', {})
  right(await openRoot(bus.store, { root: 'R1', limitMicroUsd: 1_000_000 }, Date.now())())
  const ask = async (ext: unknown, more: object = {}, bearer: string | null = 'k') => {
    const { json } = await send(port, { headers: jsonHeaders(bearer), body: talkBody({ ext, ...more }) })
    return json
  }
  const newest = async () => right(await turnRecords(bus.store, { limit: 1 })())[0]
  return { bus, ask, newest }
}

test('the operator names the piece of work that a talk belongs to, and it is charged there', async t => {
  const { bus, ask, newest } = await busOf(t)
  t.like(await ask({ root: 'R1' }), { success: true })
  const turn = await newest()
  t.is(turn?.root, 'R1')
  t.is(turn?.parent, undefined)
  t.is(right(await rootState(bus.store, 'R1')())?.spentMicroUsd, turn?.costMicroUsd)
  t.true((turn?.costMicroUsd ?? 0) > 0)
})

test('a piece of work that does not stand there cannot be named', async t => {
  const { ask, newest } = await busOf(t)
  t.like(await ask({ root: 'R2' }), { success: false, errorCode: 'invalid_request' })
  for (const root of ['', '*', 'a b', 'x'.repeat(65), 7]) {
    t.like(await ask({ root }), { success: false, errorCode: 'invalid_request' }, String(root))
  }
  t.is(await newest(), undefined)
})

test('a turn cannot leave its own root for another, nor for none', async t => {
  const { bus, ask, newest } = await busOf(t)
  const { turn, token, tokenDigest } = newTurn()
  const parent = entry(turn, { tokenDigest, owner: bus.host.owner, instance: 'caller', root: turn })
  right(await bus.ledger.enter(parent, true)())
  t.like(await ask({ root: 'R1' }, { depth: 2 }, token), { success: true })
  t.like(await newest(), { root: turn, parent: turn })
  t.is(right(await rootState(bus.store, 'R1')())?.spentMicroUsd, 0)
})

test('without a secret whoever knows the id is taken for the script', async t => {
  const { ask, newest } = await busOf(t, { secret: undefined })
  t.like(await ask({ root: 'R1' }, {}, null), { success: true })
  t.is((await newest())?.root, 'R1')
})
