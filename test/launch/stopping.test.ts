import test from 'ava'
import { turnRecords } from '../../src/budget/turns.ts'
import { delegate } from '../../src/client/delegate.ts'
import type { Reply } from '../../src/client/reply.ts'
import { launchHere } from '../../src/launch/launch.ts'
import { resolve } from '../../src/launch/resolve.ts'
import { talkWith } from '../../src/launch/talk.ts'
import { makeWorld, right, scripted, until } from './world.ts'

/** Answers after a little while, so that many are in flight. */
const slow = "process.stdin.resume().on('end', () => setTimeout(() => console.log('done'), 100))"

test('told to stop under load, every talk that it has heard is answered: with its text, or that nothing ran', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(slow, { concurrency: 4 }) } })
  const hosted = await right(launchHere(state, {}))
  const target = await right(resolve(state, 'worker', { absentMs: 0 }))
  const ask = (): Promise<Reply> =>
    delegate(
      target,
      { fromInstance: 'operator', prompt: 'hi', depth: 0 },
      { bearer: state.secret },
      { now: Date.now },
    )()
  const inFlight = Array.from({ length: 50 }, ask)
  await until(async () => {
    const records = await right(turnRecords(state.store, { limit: 100 }))
    return records.length >= 50
  })
  let stopped = false
  const later: Reply[] = []
  const more = Array.from({ length: 4 }, async () => {
    // They find it as people do; who finds nobody there was not heard.
    while (!stopped) later.push(await talkWith(undefined)(state, { name: 'worker', prompt: 'hi' })())
  })
  await hosted.stop(10_000)
  stopped = true
  await Promise.all(more)
  const replies = [...(await Promise.all(inFlight)), ...later]
  const answered = replies.filter(({ envelope }) => envelope.success)
  const ran = (await right(turnRecords(state.store, { limit: 1000 }))).filter(({ outcome }) => outcome === 'success')
  // Whoever waited is told to come again, and left no turn; what ran was answered, to those who asked for it.
  t.is(answered.length, ran.length)
  t.true(answered.length >= 4)
  for (const { envelope, gone } of replies) {
    if (envelope.success) continue
    t.is(envelope.errorCode, 'instance_unavailable', envelope.error)
    t.true(gone || envelope.ext === undefined, envelope.error)
  }
})
