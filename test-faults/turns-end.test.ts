import test from 'ava'
import * as t from 'io-ts/lib/index.js'
import { processesWithMark } from '../src/process/mark.ts'
import { textColumn } from '../src/store/columns.ts'
import { createBus, right } from '../test/fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../test/fixtures/http.ts'
import { badManners, graceMs, timeoutMs, wishOf } from './bad-manners.ts'
import { times } from './counts.ts'
import { memoryMiB, openDescriptors, quantile, until } from './measure.ts'

const envelope = t.intersection([t.type({ success: t.boolean }), t.partial({ errorCode: t.string })])

test(`${times(1000)} turns that will not end, 4 at a time: every answer comes in time, and nothing is left of them`, async x => {
  const bus = await createBus()
  x.teardown(bus.close)
  const served = await Promise.all(
    badManners.map(async bad => ({ ...bad, port: (await bus.serve(`i${badManners.indexOf(bad)}`, wishOf(bad))).port })),
  )
  // More than a pipe holds.
  const body = talkBody({ prompt: 'x'.repeat(200_000) })
  const overMs: number[] = []
  const most = new Map<string, number>()
  const wrong: string[] = []
  const count = times(1000)
  let next = 0
  let atFirst: { readonly descriptors: number; readonly memory: number } | undefined

  const lane = async (): Promise<void> => {
    while (next < count) {
      const nth = next++
      const one = served[nth % served.length]
      if (one === undefined) return
      const begun = performance.now()
      const { json } = await send(one.port, { headers: jsonHeaders(), body })
      const over = performance.now() - begun - (one.timeoutMs ?? timeoutMs) - graceMs
      overMs.push(over)
      most.set(one.name, Math.max(over, most.get(one.name) ?? over))
      const outcome = envelope.is(json) ? (json.success ? 'success' : json.errorCode) : 'no envelope'
      if (outcome !== one.outcome) wrong.push(`${one.name}: ${outcome}`)
      if (nth === Math.min(200, Math.floor(count / 2))) {
        globalThis.gc?.()
        atFirst = { descriptors: openDescriptors(), memory: memoryMiB() }
      }
    }
  }
  const before = openDescriptors()
  await Promise.all(Array.from({ length: 4 }, lane))

  const marks = right(
    await bus.store.read(sql => sql.all(t.type({ turn: textColumn }), 'SELECT turn FROM turns'))(),
  ).map(({ turn }) => turn)
  x.is(marks.length, count)
  // What left its group without being cut is swept half a second after its turn.
  await until('no process with a mark', async () => (await processesWithMark(marks)).length === 0, 5000)
  await until('the descriptors are those of before', () => Math.abs(openDescriptors() - before) <= 2, 5000)
  globalThis.gc?.()
  const memory = memoryMiB()
  x.log(
    `over timeout + grace: p50 ${Math.round(quantile(overMs, 0.5))} ms, p99 ${Math.round(quantile(overMs, 0.99))} ms, most ${Math.round(quantile(overMs, 1))} ms;`,
    `descriptors ${before} → ${openDescriptors()}; memory after turn 200 ${atFirst?.memory.toFixed(0)} MiB, after the last ${memory.toFixed(0)} MiB`,
  )
  const [slowest] = [...most].sort(([, one], [, other]) => other - one)
  x.log(`slowest: ${slowest?.[0]}`, [...most])
  x.deepEqual(wrong, [])
  x.true(quantile(overMs, 0.99) <= 500)
  x.true(quantile(overMs, 1) <= 2000)
  x.true(memory <= 1.2 * (atFirst?.memory ?? 0))
})
