import { once as event } from 'node:events'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Relative } from '../../src/budget/ledger.ts'
import type { Claimed, Keyed } from '../../src/budget/requests.ts'
import type { Admitted } from '../../src/bus/admit.ts'
import type { Bus } from '../../src/bus/bus.ts'
import { authenticate } from '../../src/bus/identity.ts'
import { once, toKeep } from '../../src/bus/once.ts'
import { createQueue } from '../../src/bus/queue.ts'
import type { Waiter } from '../../src/bus/waiter.ts'
import { type Envelope, failureEnvelope, type ReplyFacts, successEnvelope } from '../../src/protocol/envelope.ts'
import { type Failure, failure } from '../../src/protocol/failure.ts'
import type { Progress } from '../../src/protocol/progress.ts'
import { createBus } from '../fixtures/bus.ts'

const long = 600_000
const talk: Admitted = { prompt: 'hi', from: 'caller', depth: 1 }
const parent = { turn: 'p', root: 'r', instance: 'caller', depth: 0, owner: 'o' }
const facts: ReplyFacts = { fromInstance: 'worker', durationMs: 5 }

interface Carried {
  readonly talk: Admitted
  readonly waiter: Waiter
  readonly turn: string
  readonly keyed: boolean
  readonly answer: (envelope: Envelope) => void
  readonly fail: (error: Error) => void
}

/** Whoever carries a talk out here waits until the test says what it is answered with. */
const aBus = async (t: ExecutionContext, keyedPatienceMs = long) => {
  const { host, ledger, serve, close } = await createBus()
  t.teardown(close)
  const { instance } = await serve('worker', {})
  const script: {
    claim: () => Claimed | Failure
    unclaim: () => E.Either<Failure, void>
    family: () => E.Either<Failure, readonly Relative[]>
  } = {
    claim: () => ({ kind: 'new' }),
    unclaim: () => E.right(undefined),
    family: () => E.right([]),
  }
  const claims: Keyed[] = []
  const freed: string[] = []
  const logged: unknown[] = []
  const carried: Carried[] = []
  const own: typeof host = {
    ...{ ...host, owner: 'me', keyedPatienceMs },
    log: (name, what, level) => void logged.push([name, what, level]),
    ledger: {
      ...ledger,
      claim: keyed => async () => {
        claims.push(keyed)
        const said = script.claim()
        return 'code' in said ? E.left(said) : E.right(said)
      },
      unclaim: turn => async () => {
        freed.push(turn)
        return script.unclaim()
      },
      family: () => async () => script.family(),
    },
  }
  const bus: Bus = {
    ...{ host: own, authenticate: authenticate(own), instance, priceOf: () => 'unknown', queue: createQueue(1) },
    ...{ shared: new Map(), stopping: false },
  }
  const send = (
    keys: readonly string[],
    more: Partial<Admitted> = {},
    { hungUp, tell }: Partial<Waiter> = {},
    own = facts,
  ) =>
    once(
      bus,
      { keys, hungUp: hungUp ?? new AbortController().signal, tell },
      {
        facts: () => own,
        refuse: (why, turn) => async () =>
          failureEnvelope(why, { ...own, ...(turn === undefined ? {} : { ext: { turn } }) }),
        carryOut:
          (talk, waiter, { turn }, keyed) =>
          () =>
            new Promise((answer, fail) => carried.push({ talk, waiter, turn, keyed, answer, fail })),
      },
    )({ ...talk, ...more })()
  /** The talk that is carried out as the nth. */
  const nth = async (at: number): Promise<Carried> => {
    for (;;) {
      const one = carried[at]
      if (one !== undefined) return one
      await new Promise(setImmediate)
    }
  }
  return { bus, script, claims, freed, logged, carried, send, nth }
}

const answered = (turn: string): Envelope => successEnvelope('good', { ...facts, durationMs: 99, ext: { turn } })
const saysOf = (envelope: Envelope): string =>
  envelope.success ? envelope.text : `${envelope.errorCode}: ${envelope.error} ${envelope.ext?.turn ?? ''}`.trim()
const settled = () => new Promise(setImmediate)

test('a talk without a key is carried out as it is, and nothing is kept of it', async t => {
  const { bus, claims, freed, send, nth } = await aBus(t)
  const hungUp = new AbortController().signal
  const tell = () => undefined
  const came = send([], {}, { hungUp, tell })
  const { waiter, keyed, turn, answer, talk: carriedTalk } = await nth(0)
  t.deepEqual(carriedTalk, talk)
  t.is(waiter.hungUp, hungUp)
  t.is(waiter.tell, tell)
  t.false(keyed)
  t.is(bus.shared.size, 0)
  answer(failureEnvelope(failure('busy', 'x'), facts))
  await came
  t.regex(turn, /^[0-9a-f]{16}$/)
  t.deepEqual([claims, freed], [[], []])
})

test('a key is one header of 1 to 200 visible ASCII characters', async t => {
  const { send, nth, claims } = await aBus(t)
  const says = 'invalid_request: Idempotency-Key must be one header of 1 to 200 visible ASCII characters.'
  for (const keys of [['a', 'a'], [''], [' '], ['a b'], [' a'], ['a '], ['a\n'], ['\x7f'], ['é'], ['x'.repeat(201)]])
    t.is(saysOf(await send(keys)), says, JSON.stringify(keys))
  t.deepEqual(claims, [])
  for (const [at, key] of ['a', '!', '~', 'x'.repeat(200)].entries()) {
    const came = send([key])
    const { answer, turn } = await nth(at)
    answer(answered(turn))
    t.is(saysOf(await came), 'good')
  }
})

test('a key is claimed for its sender, its instance, what is asked and the turn that answers', async t => {
  const { bus, claims, freed, send, nth } = await aBus(t)
  const came = send(['k'])
  const { turn, answer, keyed, waiter } = await nth(0)
  t.true(keyed)
  t.true(waiter.waitedFor?.())
  t.is(bus.shared.size, 1)
  answer(answered(turn))
  t.deepEqual(await came, answered(turn), 'the first one is told as it was answered')
  t.is(bus.shared.size, 0)
  t.deepEqual(freed, [])
  const [claim] = claims
  t.like(claim, { sender: 'caller', instance: 'worker', key: 'k', turn, owner: 'me' })
  t.regex(claim?.bodyDigest ?? '', /^[0-9a-f]{64}$/)
  const others: Partial<Admitted>[] = [{}, { prompt: 'x' }, { depth: 2 }, { thread: 'th' }, { from: 'other' }]
  for (const [at, other] of others.entries()) {
    const again = send(['k'], other)
    const next = await nth(at + 1)
    next.answer(answered(next.turn))
    await again
  }
  const digests = claims.map(({ bodyDigest }) => bodyDigest)
  t.deepEqual(
    digests.map(digest => digest === digests[0]),
    [true, true, false, false, false, true],
  )
  t.is(new Set(digests).size, 4)
})

test('who sends the same while it runs is joined: one answer, in the terms of each', async t => {
  const { carried, claims, send, nth } = await aBus(t)
  const heard: Progress[] = []
  const first = send(['k'], {}, {}, { ...facts, durationMs: 1 })
  const { turn, answer, waiter } = await nth(0)
  const accepted: Progress = { kind: 'accepted', turn, root: turn, depth: 1 }
  waiter.tell?.(accepted)
  const tell = (progress: Progress): void => void heard.push(progress)
  const second = send(['k'], {}, { tell }, { ...facts, durationMs: 2, capabilities: ['x'] })
  const third = send(['k'], {}, {}, { ...facts, durationMs: 3 })
  await settled()
  answer(answered(turn))
  t.deepEqual(await first, answered(turn))
  t.deepEqual(await second, { ...answered(turn), durationMs: 2, capabilities: ['x'] })
  t.deepEqual(await third, { ...answered(turn), durationMs: 3 })
  t.deepEqual([carried.length, claims.length], [1, 1])
  t.deepEqual(heard, [accepted])
})

test('another sender, or another key, is another talk', async t => {
  const { carried, send, nth } = await aBus(t)
  const came = [send(['k']), send(['K']), send(['k'], { from: 'other' })]
  for (const at of came.keys()) {
    const { turn, answer } = await nth(at)
    answer(answered(turn))
  }
  await Promise.all(came)
  t.is(carried.length, 3)
})

const conflict =
  'idempotency_conflict: The idempotency key "k" came before with another talk. Give each talk its own key.'
const elsewhere = (turn: string): string =>
  `busy: The talk with this idempotency key is not over yet, as turn ${turn}. ${turn}`

test('another talk under the key is a conflict, and nobody joins the talk of another turn', async t => {
  const { carried, send, nth } = await aBus(t)
  const came = send(['k'], { parent })
  const { turn, answer } = await nth(0)
  t.is(saysOf(await send(['k'], { prompt: 'x', parent })), conflict)
  t.is(saysOf(await send(['k'])), elsewhere(turn))
  t.is(saysOf(await send(['k'], { parent: { ...parent, turn: 'q' } })), elsewhere(turn))
  t.like(await send(['k']), { ext: { retryAfterMs: 1000 } })
  const joined = send(['k'], { parent })
  await settled()
  answer(answered(turn))
  t.deepEqual([saysOf(await came), saysOf(await joined)], ['good', 'good'])
  t.is(carried.length, 1)
})

test('what the store says of a key is what its sender is told', async t => {
  const { script, carried, bus, freed, send } = await aBus(t)
  const cut =
    'cancelled: Its host died in the middle of turn t9. It is not run again under this key; send the talk with another one. t9'
  const unreadable = (why: string): string =>
    `session_state: The answer kept for the idempotency key "k" cannot be read: ${why}. Send the talk with another key.`
  const kept = JSON.stringify(answered('t9'))
  const rows: readonly [Claimed | Failure, string][] = [
    [{ kind: 'conflict' }, conflict],
    [{ kind: 'open', turn: 't9' }, elsewhere('t9')],
    [{ kind: 'cut', turn: 't9' }, cut],
    [{ kind: 'answered', envelope: kept }, 'good'],
    [{ kind: 'answered', envelope: '{' }, unreadable('it is no JSON')],
    [{ kind: 'answered', envelope: '{"success":true}' }, unreadable('text must be a string, not missing')],
    [failure('internal_error', 'The store is locked.'), 'internal_error: The store is locked.'],
  ]
  for (const [claim, says] of rows) {
    script.claim = () => claim
    t.is(saysOf(await send(['k'])), says)
  }
  script.claim = () => ({ kind: 'answered', envelope: kept })
  const own = { ...facts, durationMs: 3, capabilities: ['x'] }
  t.deepEqual(await send(['k'], {}, {}, own), { ...answered('t9'), durationMs: 3, capabilities: ['x'] })
  t.deepEqual([carried.length, bus.shared.size, freed], [0, 0, []])
})

test('a key whose talk became no turn is free again, however that came', async t => {
  const { bus, freed, logged, script, send, nth } = await aBus(t)
  const refused = send(['k'])
  const one = await nth(0)
  one.answer(failureEnvelope(failure('budget_exhausted', 'Empty.'), facts))
  t.is(saysOf(await refused), 'budget_exhausted: Empty.')
  const broken = send(['k'])
  const other = await nth(1)
  other.fail(new Error('a bug'))
  await t.throwsAsync(broken, { message: 'a bug' })
  t.deepEqual(freed, [one.turn, other.turn])
  t.is(bus.shared.size, 0)
  t.deepEqual(logged, [])
  script.unclaim = () => E.left(failure('internal_error', 'Locked.'))
  const again = send(['k'])
  const last = await nth(2)
  last.answer(failureEnvelope(failure('busy', 'Later.'), { ...facts, ext: { retryAfterMs: 5 } }))
  await again
  t.deepEqual(logged, [['note-failed', { what: 'unclaim', reason: 'Locked.' }, 'warn']])
})

test('who comes while a talk that nobody waits for ends is carried out anew', async t => {
  const { carried, send, nth } = await aBus(t, 0)
  const hangUp = new AbortController()
  const first = send(['k'], {}, { hungUp: hangUp.signal })
  const { waiter, turn, answer } = await nth(0)
  const alive = setInterval(() => undefined, 1000)
  const gone = event(waiter.hungUp, 'abort')
  hangUp.abort()
  t.false(waiter.waitedFor?.())
  await gone
  clearInterval(alive)
  const late = send(['k'])
  await settled()
  t.is(carried.length, 1, 'the key is not free yet')
  answer(failureEnvelope(failure('cancelled', 'Gone.'), { ...facts, ext: { turn } }))
  t.is(saysOf(await first), `cancelled: Gone. ${turn}`)
  const second = await nth(1)
  second.answer(answered(second.turn))
  t.is(saysOf(await late), 'good')
})

test('and so it is where that talk ends in a bug', async t => {
  const { send, nth } = await aBus(t, 0)
  const hangUp = new AbortController()
  const first = send(['k'], {}, { hungUp: hangUp.signal })
  const { waiter, fail } = await nth(0)
  const alive = setInterval(() => undefined, 1000)
  const gone = event(waiter.hungUp, 'abort')
  hangUp.abort()
  await gone
  clearInterval(alive)
  const late = send(['k'])
  fail(new Error('a bug'))
  await t.throwsAsync(first, { message: 'a bug' })
  const second = await nth(1)
  second.answer(answered(second.turn))
  t.is(saysOf(await late), 'good')
})

test('a turn that asked and is over does not come back; whoever else hung up may', async t => {
  const relative: Relative = { turn: 'p', instance: 'caller', owner: 'o', state: 'running' }
  const rows: readonly [string, Partial<Admitted>, E.Either<Failure, readonly Relative[]>, boolean][] = [
    ['no turn asked', {}, E.right([]), false],
    ['it runs', { parent }, E.right([{ ...relative, turn: 'q', state: 'done' }, relative]), false],
    ['nobody can tell', { parent }, E.left(failure('internal_error', 'x')), false],
    ['nobody knows it', { parent }, E.right([]), true],
    ['it is over', { parent }, E.right([{ ...relative, state: 'done' }]), true],
    ['another one runs', { parent }, E.right([{ ...relative, turn: 'q' }]), true],
  ]
  for (const [title, more, family, isGone] of rows) {
    const { script, send, nth } = await aBus(t)
    script.family = () => family
    const hangUp = new AbortController()
    const came = send(['k'], more, { hungUp: hangUp.signal })
    const { waiter, turn, answer } = await nth(0)
    hangUp.abort()
    await settled()
    t.is(waiter.hungUp.aborted, isGone, title)
    answer(answered(turn))
    await came
  }
})

test('who hangs up once it was answered is looked for by nobody', async t => {
  const { script, send, nth } = await aBus(t)
  let looks = 0
  script.family = () => {
    looks += 1
    return E.right([])
  }
  const hangUp = new AbortController()
  const came = send(['k'], { parent }, { hungUp: hangUp.signal })
  const { waiter, turn, answer } = await nth(0)
  answer(answered(turn))
  await came
  hangUp.abort()
  await settled()
  t.is(looks, 0)
  t.false(waiter.hungUp.aborted)
})

test('a key keeps an answer, and a failure that no second run would better', t => {
  const told = (why: Failure): string | undefined => toKeep(failureEnvelope(why, facts))
  t.is(toKeep(answered('t')), JSON.stringify(answered('t')))
  const hopeless = failure('auth', 'No key.')
  t.is(told(hopeless), JSON.stringify(failureEnvelope(hopeless, facts)))
  t.is(told(failure('timeout', 'Too slow.')), undefined)
})
