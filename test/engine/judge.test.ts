import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { EngineEvent } from '../../src/engine/engine.ts'
import { guarded } from '../../src/engine/guarded.ts'
import { judge, needsLog, type Over } from '../../src/engine/judge.ts'
import type { Reason } from '../../src/engine/outcome.ts'
import type { EngineSettings } from '../../src/engine/settings.ts'
import { type Tally, tallyOf } from '../../src/engine/tally.ts'
import { type Failure, failure } from '../../src/protocol/failure.ts'
import { simplePrice } from './one-turn.ts'
import { plain } from './plain-engine.ts'

/** What was heard of a turn that is over: by itself, with exit status 0, unless told otherwise. */
interface Heard {
  readonly events?: readonly EngineEvent[]
  readonly log?: readonly EngineEvent[]
  readonly exit?: Over['exit']
  readonly settings?: Partial<EngineSettings>
  readonly resume?: Over['request']['resume']
  /** Our signal was sent, for these reasons. */
  readonly ours?: Readonly<Partial<Record<Reason, Failure>>>
  readonly inTime?: boolean
  readonly torn?: boolean
  readonly fault?: { readonly broken?: Failure; readonly tooLong?: Failure }
  readonly stdout?: string
  readonly noise?: string
  readonly stderr?: string
  readonly key?: string
}

const tallied = (events: readonly EngineEvent[] = []): Tally => {
  const tally = tallyOf(simplePrice)
  for (const event of events) tally.add(event)
  return tally
}

const never = (): never => {
  throw new Error('A turn that is over is only looked at.')
}

const over = (heard: Heard): Over => {
  const { settings, fault = {}, ours, key, resume } = heard
  const engine = settings?.engine ?? plain()
  return {
    request: {
      ...{ prompt: 'hi', turnFolder: '/turn', allowance: {}, priceOf: simplePrice, environment: {} },
      settings: {
        ...{ engine, cli: ['plain'], args: [], cwd: '/', env: [] },
        ...{ timeoutMs: 60_000, graceMs: 5000, lineLimitBytes: 1000 },
        ...settings,
      },
      turnEnvironment: { ERRAND_TURN: 'mark', ERRAND_REPORT: '/report' },
      ...(resume === undefined ? {} : { resume }),
      cancel: new AbortController().signal,
      now: () => Date.UTC(2026, 5, 8, 12),
      ...{ onStarted: never, onSeen: never, onEnding: never },
    },
    engine: guarded(engine),
    environment: key === undefined ? {} : { SOME_API_KEY: key },
    exit: heard.exit ?? (ours === undefined ? { exitCode: 0 } : { signal: 'SIGTERM' }),
    tally: tallied(heard.events),
    ...(heard.log === undefined ? {} : { logged: tallied(heard.log) }),
    hearing: {
      ...{ push: never, errorLine: never, end: never, close: never },
      text: () => heard.stdout ?? '',
      noise: () => heard.noise ?? '',
      fault: () => fault,
      resultInTime: () => heard.inTime === true,
      answerTorn: () => heard.torn === true,
    },
    stderr: heard.stderr ?? '',
    ending: {
      ...{ begin: never, done: never, gaveUp: new Promise(() => undefined) },
      signalled: () => ours !== undefined,
      reasons: () => ours ?? {},
    },
  }
}

const judged = (heard: Heard) => {
  const report = judge(over(heard))
  const { outcome } = report
  return { ...report, says: E.isLeft(outcome) ? `${outcome.left.code}: ${outcome.left.sentence}` : outcome.right.text }
}

const said = (text: string): EngineEvent => ({ kind: 'text', text })
const usage = (inputTokens: number): EngineEvent => ({
  ...{ kind: 'usage', scope: 'step', usage: { inputTokens, outputTokens: 0 } },
})
const usd = (dollars: number): EngineEvent => ({ kind: 'cost', scope: 'turn', usd: dollars })
const good: EngineEvent = { kind: 'result', ok: true, text: 'good' }
const step: EngineEvent = { kind: 'result', ok: true, text: 'half', mayGoOn: true }
const tooSlow = failure('timeout', 'Too slow.')
const hopeless = failure('auth', 'The key was refused.')

test('a turn that ended by itself: its answer, what it cost, and nothing that it did not say', t => {
  t.deepEqual(judge(over({ events: [usage(7), good] })), {
    outcome: E.right({ text: 'good' }),
    cost: { microUsd: 7, basis: 'priced' },
    tokens: 7,
  })
  const session: EngineEvent = { kind: 'session', id: 's' }
  const total: EngineEvent = { kind: 'usage', scope: 'session', usage: { inputTokens: 9, outputTokens: 0 } }
  t.deepEqual(judge(over({ events: [session, { kind: 'model', model: 'm' }, total, good] })), {
    outcome: E.right({ text: 'good' }),
    cost: { microUsd: 9, basis: 'priced' },
    tokens: 9,
    model: 'm',
    session: 's',
    sessionTotal: { microUsd: 9, tokens: 9 },
  })
})

test('what stands for the answer: of records the last message, of a text engine all of stdout', t => {
  const empty: EngineEvent = { kind: 'result', ok: true, text: '' }
  t.is(judged({ events: [said('first'), said('last'), empty], stdout: 'records' }).says, 'last')
  const text = { engine: plain({ output: 'text' as const }) }
  t.is(judged({ settings: text, stdout: 'whole', events: [said('of a report')] }).says, 'whole')
})

test('a torn answer, a fault, a refused write are told as they are', t => {
  const empty: EngineEvent = { kind: 'result', ok: true, text: '' }
  t.is(
    judged({ events: [said('hal'), empty], torn: true }).says,
    'engine_cli: A record of the answer was damaged on its way.',
  )
  const broken = failure('invalid_handler_response', 'The engine is at fault.')
  t.is(judged({ fault: { broken } }).says, 'invalid_handler_response: The engine is at fault.')
  t.is(judged({ fault: { tooLong: failure('engine_cli', 'Too long.') } }).says, 'engine_cli: Too long.')
  const denied: EngineEvent = { kind: 'denied', what: 'Write a' }
  t.regex(judged({ events: [denied, good] }).says, /^write_permission: /)
  const read = judged({ events: [denied, good], settings: { access: 'read' } })
  t.deepEqual(read.outcome, E.right({ text: 'good', denied: ['Write a'] }))
})

test('our reason counts where our signal came first; a final result that came before it stands', t => {
  t.is(judged({ ours: { timedOut: tooSlow } }).says, 'timeout: Too slow.')
  t.is(judged({ ours: { timedOut: tooSlow }, events: [good] }).says, 'timeout: Too slow.', 'too late')
  t.is(judged({ ours: { timedOut: tooSlow }, events: [good], inTime: true }).says, 'good')
})

test('a step that may go on is the end where the CLI ended by itself, and none where it was cut', t => {
  t.is(judged({ events: [step] }).says, 'half')
  t.is(judged({ events: [step], exit: { exitCode: 1 } }).says, 'half')
  t.is(judged({ events: [step], exit: { signal: 'SIGKILL' } }).says, 'engine_cli: exit SIGKILL')
  t.is(judged({ events: [step], ours: {}, exit: { exitCode: 0 } }).says, 'engine_cli: exit 0')
  t.is(judged({ events: [good], exit: { signal: 'SIGKILL' } }).says, 'good')
  t.is(judged({ events: [good], ours: {} }).says, 'good')
})

test('the classifier hears how it ended: the failed result, the last retry, the exit, what was no record', t => {
  const ends: unknown[] = []
  const engine = plain({
    classify: end => {
      ends.push(end)
      return failure('auth', 'told')
    },
  })
  const failed: EngineEvent = { kind: 'result', ok: false, error: 'nope' }
  const retry: EngineEvent = { kind: 'retry', status: 500 }
  t.is(judged({ settings: { engine }, events: [retry, failed], noise: 'n', stderr: 'e' }).says, 'auth: told')
  judged({ settings: { engine }, exit: { exitCode: 3 } })
  judged({ settings: { engine }, events: [step], exit: { signal: 'SIGKILL' } })
  t.deepEqual(ends, [
    { result: failed, retry, exitCode: 0, noise: 'n', stderr: 'e' },
    { exitCode: 3, noise: '', stderr: '' },
    { signal: 'SIGKILL', noise: '', stderr: '' },
  ])
})

test('the cost of a turn that was cut is not known, unless nothing can have been spent after what was told', t => {
  const known = { microUsd: 7, basis: 'priced' }
  const unknown = { microUsd: 7, basis: 'unknown' }
  const rows: readonly [string, Heard, object][] = [
    ['it failed by itself', { exit: { exitCode: 1 } }, known],
    ['it was ended by us', { ours: { timedOut: tooSlow }, exit: { exitCode: 1 } }, unknown],
    ['it was ended by a signal', { exit: { signal: 'SIGKILL' } }, unknown],
    ['a record was too long', { fault: { tooLong: failure('engine_cli', 'x') } }, unknown],
    ['the engine broke', { fault: { broken: failure('invalid_handler_response', 'x') } }, unknown],
    ['its final result was seen', { events: [good], ours: { cancelled: failure('cancelled', 'x') } }, known],
    ['it was cut after a step', { events: [step], exit: { signal: 'SIGKILL' } }, unknown],
    ['it was stuck on a refusal', { ours: { stuck: hopeless } }, known],
    ['it was stuck after its final result', { ours: { stuck: hopeless }, events: [good], inTime: true }, known],
    ['its log tells every request', { ours: { timedOut: tooSlow }, log: [usage(7)] }, known],
    ['its log was still asking', { ours: { timedOut: tooSlow }, log: [usage(7), { kind: 'asked' }] }, unknown],
  ]
  for (const [title, heard, cost] of rows)
    t.deepEqual(judged({ ...heard, events: [usage(7), ...(heard.events ?? [])] }).cost, cost, title)
})

test('a success that told nothing has a cost that nobody knows; a failure without work has none', t => {
  t.deepEqual(judged({ events: [good] }).cost, { microUsd: 0, basis: 'unknown' })
  t.deepEqual(judged({ exit: { exitCode: 1 } }).cost, { microUsd: 0, basis: 'none' })
})

test('the model and the session are those of the stream, else of the log; the model else as the instance has it', t => {
  const named = (model: string, id: string): readonly EngineEvent[] => [
    { kind: 'model', model },
    { kind: 'session', id },
  ]
  const settings = { model: 'asked for' }
  t.like(judged({ events: named('m', 's'), log: named('log', 'log'), settings }), { model: 'm', session: 's' })
  t.like(judged({ log: named('log', 'of the log'), settings }), { model: 'log', session: 'of the log' })
  t.like(judged({ log: [], settings }), { model: 'asked for', session: undefined })
})

test('a session that is not the one to go on with has strayed', t => {
  const opened = (id: string): EngineEvent => ({ kind: 'session', id })
  const resume = { session: 's' }
  t.true(judged({ resume, events: [opened('other'), good] }).strayed)
  t.false('strayed' in judged({ resume, events: [opened('s'), good] }))
  t.true(judged({ resume, events: [good], log: [opened('other')] }).strayed, 'as its log tells')
})

test('what was said before we cut it is told with the failure: the end of it, at most 64 KiB', t => {
  const ours = { timedOut: tooSlow }
  const events = [said('one'), said('two')]
  t.is(judged({ ours, events, stdout: 'records' }).partialText, 'one\n\ntwo')
  t.false('partialText' in judged({ ours }))
  t.false('partialText' in judged({ events, exit: { exitCode: 1 } }), 'it ended by itself')
  t.false('partialText' in judged({ ours, events: [...events, good], inTime: true }), 'it has answered')
  const text = { engine: plain({ output: 'text' as const }) }
  const long = judged({ ours, settings: text, stdout: `${'x'.repeat(64 * 1024)}end` }).partialText
  t.is(long?.length, 64 * 1024)
  t.regex(long ?? '', /^x+end$/)
})

test('no sentence holds a key of the environment', t => {
  const key = 'k-0123456789'
  t.is(judged({ key, exit: { exitCode: 1 }, stderr: `wrong key ${key}` }).says, 'engine_cli: wrong key [key]')
})

test('a log is read for a turn that was cut, or whose dollars nobody told', t => {
  t.false(needsLog(over({ events: [usd(1), good] })))
  t.true(needsLog(over({ events: [usage(1), good] })))
  t.true(needsLog(over({ events: [usd(1)], ours: { timedOut: tooSlow } })))
})
