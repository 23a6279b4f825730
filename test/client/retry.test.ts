import test from 'ava'
import type { Reply } from '../../src/client/reply.ts'
import { longestHintMs, retry } from '../../src/client/retry.ts'
import { failureEnvelope, successEnvelope } from '../../src/protocol/envelope.ts'
import type { ErrorCode } from '../../src/protocol/error-codes.ts'
import { failure } from '../../src/protocol/failure.ts'

const facts = { fromInstance: 'worker', durationMs: 1 }
const good: Reply = { envelope: successEnvelope('done', facts), repeatable: false, gone: false }
const bad = (repeatable: boolean, retryAfterMs?: number, code: ErrorCode = 'busy'): Reply => ({
  envelope: failureEnvelope(failure(code, 'not now', retryAfterMs), facts),
  repeatable,
  gone: false,
})

const trial = async (replies: readonly Reply[], times: number, signal?: AbortSignal) => {
  const pauses: number[] = []
  let sent = 0
  const reply = await retry(async () => replies[Math.min(sent++, replies.length - 1)] ?? good, times, {
    pause: async ms => void pauses.push(ms),
    random: () => 0.999999,
    ...(signal === undefined ? {} : { signal }),
  })()
  return { reply, sent, pauses }
}

test('without a number nothing is repeated', async t => {
  t.is((await trial([bad(true)], 0)).sent, 1)
})

test('what may have run is never repeated', async t => {
  t.is((await trial([bad(false, undefined, 'timeout')], 5)).sent, 1)
})

test('who waits hears after what', async t => {
  const heard: (string | undefined)[] = []
  const pause = async (_ms: number, { envelope }: Reply) => {
    heard.push(envelope.success ? undefined : envelope.error)
  }
  const replies = [bad(true), good]
  await retry(async () => replies.shift() ?? good, 3, { pause, random: () => 0 })()
  t.deepEqual(heard, ['not now'])
})

test('pauses grow to 30 s, and success ends it', async t => {
  const { reply, sent, pauses } = await trial([...Array(8).fill(bad(true)), good], 20)
  t.true(reply.envelope.success)
  t.is(sent, 9)
  t.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
})

test('after the last repetition the last answer stands', async t => {
  const { reply, sent } = await trial([bad(true)], 3)
  t.is(sent, 4)
  t.false(reply.envelope.success)
})

test('a longer hint is honoured, one beyond five minutes is an answer', async t => {
  t.deepEqual((await trial([bad(true, 90_000), good], 1)).pauses, [90_000])
  t.deepEqual((await trial([bad(true, 10), good], 1)).pauses, [500])
  t.is((await trial([bad(true, longestHintMs + 1), good], 1)).sent, 1)
})

test('who gave up while pausing is not sent for', async t => {
  t.is((await trial([bad(true)], 5, AbortSignal.abort())).sent, 1)
})
