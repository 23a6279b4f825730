import test from 'ava'
import type { EngineEvent } from '../../src/engine/engine.ts'
import { stuckOf } from '../../src/engine/stuck.ts'
import { type Failure, failure } from '../../src/protocol/failure.ts'

type Retry = Extract<EngineEvent, { kind: 'retry' }>

const meaning = ({ status, reason = '' }: Retry): Failure => {
  if (status === 401) return failure('auth', 'Bad key.')
  if (status === 402) return failure('quota_exhausted', 'No credit.')
  if (status === 429) return failure('rate_limited', 'Slow down.', reason === '' ? undefined : Number(reason))
  return failure(reason === 'session' ? 'session_state' : 'engine_cli', 'Server error.')
}

const retry = (status: number, more: Partial<Retry> = {}): Retry => ({ kind: 'retry', status, ...more })
const text: EngineEvent = { kind: 'text', text: 'x' }

/** Ten minutes for the turn; what was heard, in seconds; when it has to end, in seconds, and why. */
const due = (...heard: readonly (readonly [number, EngineEvent])[]): readonly [number, string] | undefined => {
  const stuck = stuckOf(meaning, 600_000)
  for (const [at, event] of heard) stuck.heard(event, at * 1000)
  const found = stuck.due()
  return found === undefined ? undefined : [found.atMs / 1000, found.why.code]
}

test('nothing is due before a retry, and nothing once work goes on after it', t => {
  t.is(due(), undefined)
  t.is(due([0, text]), undefined)
  const work: readonly EngineEvent[] = [
    text,
    { kind: 'tool', name: 'x' },
    { kind: 'asked' },
    { kind: 'usage', scope: 'step', usage: { inputTokens: 1, outputTokens: 0 } },
    { kind: 'usage', scope: 'step', usage: { inputTokens: 0, outputTokens: 1 } },
    { kind: 'result', ok: true, text: '' },
    { kind: 'result', ok: false, error: 'x' },
  ]
  for (const event of work) t.is(due([0, retry(401)], [1, event]), undefined, event.kind)
})

test('what says nothing of work changes nothing', t => {
  const idle: readonly EngineEvent[] = [
    { kind: 'session', id: 'x' },
    { kind: 'model', model: 'x' },
    { kind: 'text', text: '' },
    { kind: 'denied', what: 'x' },
    { kind: 'result', ok: false, error: 'x', mayGoOn: true },
    { kind: 'cost', scope: 'turn', usd: 0 },
    { kind: 'usage', scope: 'step', usage: { inputTokens: 0, outputTokens: 0 } },
  ]
  for (const event of idle) {
    t.deepEqual(due([0, retry(401)], [1, event]), [5, 'auth'], event.kind)
    t.is(due([0, event]), undefined, event.kind)
  }
})

test('what no waiting helps ends at the second notice, or five seconds after the first', t => {
  for (const [notice, code] of [
    [retry(401), 'auth'],
    [retry(402), 'quota_exhausted'],
    [retry(0, { reason: 'session' }), 'session_state'],
  ] as const) {
    t.deepEqual(due([3, notice]), [8, code])
    t.deepEqual(due([3, notice], [4, notice]), [4, code])
    t.deepEqual(due([3, notice], [3.1, text], [60, notice]), [65, code], 'work begins it anew')
  }
  t.deepEqual(due([0, retry(500)], [1, retry(401)], [2, retry(500)]), [6, 'auth'])
  t.deepEqual(due([0, retry(500)], [1, retry(401)], [2, retry(500)], [3, retry(401)]), [3, 'auth'])
})

test('other errors have three quarters of a minute, as far as the CLI is known to be still trying', t => {
  t.deepEqual(due([0, retry(500)], [46, retry(500)]), [46, 'engine_cli'], 'a notice after it')
  t.deepEqual(due([0, retry(500)], [30, retry(503, { retryAfterMs: 20_000 })]), [45, 'engine_cli'], 'it says so')
  t.deepEqual(due([0, retry(429)], [50, retry(500, { retryAfterMs: 1 })]), [50, 'engine_cli'], 'the last one is told')
  t.deepEqual(due([0, retry(529)]), [120, 'engine_cli'], 'the next try may have got through, and the model thinks')
  t.deepEqual(due([0, retry(529)], [20, retry(529, { retryAfterMs: 10_000 })]), [150, 'engine_cli'])
  const many = Array.from({ length: 40 }, (_, at) => [at, retry(500)] as const)
  t.deepEqual(due(...many), [159, 'engine_cli'])
  t.deepEqual(due(...many, [45, retry(500)]), [45, 'engine_cli'])
})

test('a wait that goes beyond the turn, or beyond five minutes, is not waited for', t => {
  t.deepEqual(due([10, retry(429, { retryAfterMs: 300_001 })]), [10, 'rate_limited'])
  t.deepEqual(due([10, retry(429, { reason: '7200000' })]), [10, 'rate_limited'], 'also where the cause tells it')
  t.deepEqual(due([10, retry(429, { retryAfterMs: 300_000 })]), [55, 'rate_limited'])
  t.deepEqual(due([560, retry(429, { retryAfterMs: 41_000 })]), [560, 'rate_limited'])
  t.deepEqual(due([560, retry(429, { retryAfterMs: 40_000 })]), [720, 'rate_limited'], 'it ends with the turn')
  const isLong = retry(429, { retryAfterMs: 300_001 })
  t.deepEqual(due([0, retry(500)], [1, retry(401)], [2, isLong]), [2, 'rate_limited'], 'the last notice tells it')
  t.deepEqual(due([610, retry(500)]), [730, 'engine_cli'], 'it means to wait for nothing')
})

test('the cause is known as long as nothing else was heard, with the time to wait', t => {
  const stuck = stuckOf(meaning, 600_000)
  t.is(stuck.cause(), undefined)
  stuck.heard(retry(429, { retryAfterMs: 30_000 }), 0)
  t.deepEqual(stuck.cause(), failure('rate_limited', 'Slow down.', 30_000))
  stuck.heard(retry(401, { retryAfterMs: 30_000 }), 1)
  t.deepEqual(stuck.cause(), failure('auth', 'Bad key.'), 'no waiting helps there')
  stuck.heard(text, 2)
  t.is(stuck.cause(), undefined)
})

test('a cause keeps the time to wait that it tells itself, and gets none where nobody told any', t => {
  const caused = (notice: Retry): Failure | undefined => {
    const stuck = stuckOf(meaning, 600_000)
    stuck.heard(notice, 0)
    return stuck.cause()
  }
  t.deepEqual(caused(retry(429)), failure('rate_limited', 'Slow down.'))
  t.deepEqual(caused(retry(429, { retryAfterMs: 0 })), failure('rate_limited', 'Slow down.'))
  t.deepEqual(caused(retry(429, { retryAfterMs: 9, reason: '7' })), failure('rate_limited', 'Slow down.', 7))
})

test('notices without end are let go: what is looked at does not grow with them', t => {
  for (const code of ['auth', 'engine_cli'] as const) {
    let looks = 0
    const watched: Failure = {
      sentence: 'x',
      get code() {
        looks += 1
        return code
      },
    }
    const stuck = stuckOf(() => watched, 600_000)
    for (let at = 0; at < 1000; at++) stuck.heard(retry(500), at)
    looks = 0
    stuck.heard(retry(500), 1000)
    stuck.due()
    t.true(looks < 100, `${code}: ${looks}`)
  }
})

test('a question ends it after five seconds without a record; the first one counts', t => {
  const stuck = stuckOf(meaning, 600_000)
  const asked = (why: string) => failure('auth', why)
  t.true(stuck.isFresh())
  stuck.asked(asked('one'), 1000)
  stuck.asked(asked('two'), 4000)
  t.deepEqual(stuck.due(), { atMs: 6000, why: asked('one') })
  t.deepEqual(stuck.cause(), asked('one'))
  stuck.moved()
  t.is(stuck.due(), undefined)
  stuck.asked(asked('three'), 7000)
  stuck.heard(retry(401), 8000)
  t.deepEqual(stuck.due(), { atMs: 12_000, why: asked('three') })
  stuck.heard(text, 9000)
  t.is(stuck.due(), undefined)
  t.false(stuck.isFresh())
})
