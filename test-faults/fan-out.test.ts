import { writeFile } from 'node:fs/promises'
import test from 'ava'
import * as t from 'io-ts/lib/index.js'
import { budgetStates } from '../src/budget/states.ts'
import { createBus, right } from '../test/fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../test/fixtures/http.ts'
import { times } from './counts.ts'

const success = t.type({ success: t.literal(true), text: t.string })

for (const [where, across] of [
  ['in one process', false],
  ['across two', true],
] as const) {
  test(`a turn that asks ${times(1000)} times at once is answered each time, and 49 of them run (${where})`, async x => {
    const bus = await createBus()
    x.teardown(bus.close)
    const other = across ? await createBus({ folder: bus.folder }) : bus
    if (across) x.teardown(other.close)
    Object.assign(other.host, { ownerLives: async () => true })
    const worker = await other.serve('worker', { concurrency: 4, behaviour: 'ok' })
    const count = times(1000)
    const root = await bus.serve('reviewer', {
      behaviour: `fans:${count}/reviewer/worker`,
      settings: { timeoutMs: 170_000 },
    })
    // The fake CLI of one host is told where the other listens.
    await writeFile(`${bus.folder}/calls.ports`, JSON.stringify({ worker: worker.port }))
    const begun = performance.now()
    const { json, text } = await send(root.port, {
      headers: jsonHeaders(),
      body: talkBody({ fromInstance: 'operator' }),
    })
    if (!success.is(json)) return x.fail(text)
    const codes = new Map<string, number>()
    for (const code of right(t.array(t.string).decode(JSON.parse(json.text))))
      codes.set(code, (codes.get(code) ?? 0) + 1)
    x.log(`${Math.round(performance.now() - begun)} ms:`, JSON.stringify(Object.fromEntries(codes)))
    x.is(
      [...codes.values()].reduce((sum, n) => sum + n, 0),
      count,
    )
    x.is(codes.get('success'), Math.min(49, count))
    x.deepEqual(
      [...codes.keys()].filter(code => !['success', 'turns_exhausted', 'busy'].includes(code)),
      [],
    )
    const [all] = right(await budgetStates(bus.store, Date.now(), [{ instance: '*' }])())
    x.like(all, { turns: Math.min(50, count + 1), heldMicroUsd: 0 })
  })
}
