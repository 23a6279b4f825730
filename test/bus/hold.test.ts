import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Entered, Entry } from '../../src/budget/ledger.ts'
import type { Admitted } from '../../src/bus/admit.ts'
import type { Bus } from '../../src/bus/bus.ts'
import { type HeldTurn, hold } from '../../src/bus/hold.ts'
import { authenticate, newTurn } from '../../src/bus/identity.ts'
import { createQueue } from '../../src/bus/queue.ts'
import type { Waiter } from '../../src/bus/waiter.ts'
import { type Failure, failure } from '../../src/protocol/failure.ts'
import { createBus, type InstanceWish } from '../fixtures/bus.ts'

const nowMs = Date.UTC(2026, 5, 8, 12)
const running: Entered = { state: 'running', allowance: { microUsd: 5 } }
const waiting = (what: 'slot' | 'money' | 'work' | 'thread'): Entered => ({ state: 'waiting', for: what })
type Said = Entered | Failure

const said = (answer: Said): E.Either<Failure, Entered> => ('code' in answer ? E.left(answer) : E.right(answer))

/** One line, with a ledger that says what the test tells it to: to a first try, and to later ones. */
const aLine = async (t: ExecutionContext, wish: InstanceWish = {}) => {
  const { host, ledger, serve, close } = await createBus()
  t.teardown(close)
  const { instance } = await serve('worker', wish)
  const entries: (readonly [Entry, slotFree: boolean, othersFirst: boolean | undefined])[] = []
  const tried: string[] = []
  const left: string[] = []
  const script: { first: (entry: Entry) => Said; later: (entry: Entry) => Said } = {
    first: () => running,
    later: () => running,
  }
  const queue = createQueue(instance.concurrency)
  const own: typeof host = {
    ...host,
    now: () => nowMs,
    ledger: {
      ...ledger,
      enter: (entry, slotFree, othersFirst) => async () => {
        entries.push([entry, slotFree, othersFirst])
        return said(script.first(entry))
      },
      hold: entry => async () => {
        tried.push(entry.turn)
        return said(script.later(entry))
      },
      leave: turn => async () => {
        left.push(turn)
        return E.right(undefined)
      },
    },
  }
  const bus: Bus = {
    ...{ host: own, authenticate: authenticate(own), instance, priceOf: () => 'unknown', queue },
    ...{ shared: new Map(), stopping: false },
  }
  const ask = (more: Partial<Admitted> = {}, waiter: Partial<Waiter> = {}) => {
    const turn = newTurn()
    const talk: Admitted = { prompt: 'hi', from: 'caller', depth: 1, ...more }
    const came = hold(bus, { hungUp: new AbortController().signal, ...waiter }, talk, turn)()
    return { turn, talk, came }
  }
  /** Nothing of a talk is left in the line. */
  const isEmpty = (): boolean => queue.waiting() === 0 && queue.running() === 0 && own.live.size === 0
  return { bus, host: own, queue, script, entries, tried, left, ask, isEmpty }
}

const held = (came: E.Either<Failure, HeldTurn>): HeldTurn => {
  if (E.isLeft(came)) throw new Error(came.left.sentence)
  return came.right
}

const refused = (came: E.Either<Failure, HeldTurn>): string =>
  E.isLeft(came) ? `${came.left.code}: ${came.left.sentence}` : 'not refused'

/** Once all that is ready to happen has happened. */
const settled = () => new Promise(resolve => setImmediate(resolve))

test('a free slot and money: the entry says all of the talk, and the slot is its own until it is done', async t => {
  const { bus, host, queue, entries, tried, left, script, ask, isEmpty } = await aLine(t)
  const resume = { session: 's', totalTokens: 5 }
  script.first = () => ({ ...running, resume })
  const told: unknown[] = []
  const { turn, talk, came } = ask({}, { tell: progress => void told.push(progress) })
  const { done, ended, ...turnHeld } = held(await came)
  t.deepEqual(turnHeld, { ...turn, talk, allowance: { microUsd: 5 }, resume })
  t.false(ended.aborted)
  const { instance } = bus
  t.deepEqual(entries, [
    [
      {
        ...{ turn: turn.turn, root: turn.turn, instance: 'worker', from: 'caller', depth: 1, engine: 'claude' },
        ...{ owner: host.owner, tokenDigest: turn.tokenDigest, limits: instance.limits },
        ...{ maxTurnsPerRoot: 50, timeoutMs: 60_000 },
      },
      true,
      true,
    ],
  ])
  t.deepEqual(told, [{ kind: 'accepted', turn: turn.turn, root: turn.turn, depth: 1 }])
  const live = host.live.get(turn.turn)
  t.like(live, { turn: turn.turn, instance: 'worker' })
  t.is(typeof live?.ranForMs, 'function')
  t.false('waitedFor' in Object(live))
  t.deepEqual([queue.running(), queue.waiting()], [1, 0])
  let isOver = false
  void live?.over.then(() => {
    isOver = true
  })
  await settled()
  t.false(isOver)
  done()
  t.true(isEmpty())
  await live?.over
  t.deepEqual([tried, left], [[], []])
})

test('an entry names the thread, the model, the piece of work, and of a turn that asks the root and the deadline', async t => {
  const { host, entries, ask } = await aLine(t, { concurrency: 9, settings: { model: 'm' } })
  const parent = { turn: 'p', root: 'r', instance: 'caller', depth: 1, owner: 'o' }
  const waitedFor = () => true
  held(await ask({ thread: 'th' }).came)
  held(await ask({ root: 'mine' }).came)
  held(await ask({ root: 'mine', parent }).came)
  const shared = ask({ parent: { ...parent, deadlineAtMs: nowMs + 10_000 } }, { waitedFor })
  const { done } = held(await shared.came)
  t.is(host.live.get(shared.turn.turn)?.waitedFor, waitedFor)
  done()
  const [thread, root, child, late] = entries.map(([entry]) => entry)
  t.like(thread, { thread: 'th', model: 'm' })
  t.like(root, { root: 'mine', parent: undefined, latestEndMs: undefined })
  t.like(child, { root: 'r', parent: 'p', latestEndMs: undefined })
  t.like(late, { root: 'r', parent: 'p', latestEndMs: nowMs + 9000 })
})

test('what is refused at once is not entered', async t => {
  const { bus, host, entries, ask, isEmpty } = await aLine(t)
  const parent = { turn: 'p', root: 'r', instance: 'caller', depth: 1, owner: 'o' }
  const gone = AbortSignal.abort()
  t.is(refused(await ask({}, { hungUp: gone }).came), 'cancelled: The caller hung up.')
  const late = await ask({ parent: { ...parent, deadlineAtMs: nowMs } }).came
  t.regex(refused(late), /^timeout: No answer within 0 ms, what was left of the time of the turn that asked/)
  host.unsettled.add('t1').add('t2')
  const says = 'internal_error: The cost of turn t1, t2 could not be written yet; new talks wait for that.'
  t.is(refused(await ask().came), says)
  bus.stopping = true
  t.is(refused(await ask().came), 'instance_unavailable: Instance worker is stopping.')
  t.deepEqual(entries, [])
  t.true(isEmpty())
})

test('a line is full when its slots and its places are taken', async t => {
  const { script, queue, ask } = await aLine(t, { concurrency: 2, queueLimit: 1 })
  const hangUp = new AbortController()
  const turns = [held(await ask().came), held(await ask().came)]
  script.first = () => waiting('slot')
  const { came } = ask({}, { hungUp: hangUp.signal })
  await settled()
  t.is(queue.waiting(), 1)
  const full = await ask().came
  t.deepEqual(full, E.left(failure('busy', '1 talks wait for worker already.', 1000)))
  hangUp.abort()
  await came
  for (const { done } of turns) done()
  const { ask: askNarrow } = await aLine(t, { queueLimit: 0 })
  t.is(held(await askNarrow().came).allowance.microUsd, 5, 'without places, what finds a free slot runs')
  t.regex(refused(await askNarrow().came), /^busy: 0 talks wait/)
})

test('what the ledger refuses leaves the line, and is forgotten there if it had waited', async t => {
  const { script, left, ask, isEmpty } = await aLine(t)
  const no = failure('budget_exhausted', 'No.')
  script.first = () => no
  const told: unknown[] = []
  t.deepEqual(await ask({}, { tell: progress => void told.push(progress) }).came, E.left(no))
  t.deepEqual([told, left], [[], []], 'it was not accepted')
  script.first = () => waiting('money')
  script.later = () => no
  const { turn, came } = ask()
  t.deepEqual(await came, E.left(no))
  t.deepEqual(left, [turn.turn])
  t.true(isEmpty())
})

test('one after another, in their order, each as soon as the one before it is done', async t => {
  const { script, entries, left, ask } = await aLine(t)
  script.first = () => running
  const first = held(await ask().came)
  script.first = () => waiting('slot')
  const order: string[] = []
  const later = ['a', 'b'].map(async prompt => {
    const turn = held(await ask({ prompt }).came)
    order.push(prompt)
    return turn
  })
  await settled()
  t.deepEqual(
    entries.map(([, slotFree, othersFirst]) => [slotFree, othersFirst]),
    [
      [true, true],
      [false, false],
      [false, false],
    ],
  )
  t.deepEqual(order, [])
  first.done()
  const second = await later[0]
  await settled()
  t.deepEqual(order, ['a'])
  second?.done()
  await later[1]
  t.deepEqual(order, ['a', 'b'])
  t.deepEqual(left, [])
})

test('money that another process frees is seen, although no event tells of it', async t => {
  for (const what of ['money', 'work', 'thread'] as const) {
    const { script, tried, left, ask } = await aLine(t)
    script.first = () => waiting(what)
    script.later = () => (tried.length < 3 ? waiting(what) : { ...running, resume: { session: 's' } })
    const { turn, came } = ask()
    t.like(held(await came), { allowance: { microUsd: 5 }, resume: { session: 's' } })
    t.deepEqual([tried, left], [Array(3).fill(turn.turn), []], what)
  }
})

test('who waits for money holds up the line; who waits for what is its own, its thread alone', async t => {
  for (const [what, holdsUp] of [
    ['money', true],
    ['work', false],
    ['thread', false],
  ] as const) {
    for (const atOnce of [true, false]) {
      const { script, entries, ask } = await aLine(t, { concurrency: 9 })
      const hangUp = new AbortController()
      script.first = () => (entries.length > 1 ? running : waiting(atOnce ? what : 'slot'))
      script.later = () => waiting(what)
      const first = ask({ thread: 'th' }, { hungUp: hangUp.signal })
      await settled()
      const tries = async (more: Partial<Admitted>): Promise<boolean | undefined> => {
        const { came } = ask(more)
        held(await came)
        return entries.at(-1)?.[1]
      }
      const title = `${what}, ${atOnce ? 'at once' : 'later'}`
      t.is(await tries({}), !holdsUp, title)
      t.is(await tries({ thread: 'other' }), !holdsUp, title)
      t.is(await tries({ thread: 'th', from: 'other' }), !holdsUp, title)
      t.false(await tries({ thread: 'th' }), title)
      hangUp.abort()
      t.is(refused(await first.came), 'cancelled: The caller hung up.')
    }
  }
})

test('talks on no thread are of no lane: who waits for its piece of work holds up nobody', async t => {
  const { script, entries, ask } = await aLine(t, { concurrency: 9 })
  const hangUp = new AbortController()
  script.first = () => (entries.length > 1 ? running : waiting('work'))
  script.later = () => waiting('work')
  const { came } = ask({}, { hungUp: hangUp.signal })
  await settled()
  const second = held(await ask().came)
  t.true(entries.at(-1)?.[1])
  t.false('resume' in second)
  hangUp.abort()
  t.is(refused(await came), 'cancelled: The caller hung up.')
})

test('who gives up or is ended leaves the line and the ledger', async t => {
  for (const what of ['slot', 'money', 'thread'] as const) {
    const { script, host, left, ask, isEmpty } = await aLine(t)
    script.first = () => waiting(what)
    script.later = () => waiting(what)
    const hangUp = new AbortController()
    const hangsUp = ask({}, { hungUp: hangUp.signal })
    await settled()
    hangUp.abort()
    t.is(refused(await hangsUp.came), 'cancelled: The caller hung up.', what)
    const isEnded = ask()
    await settled()
    const live = host.live.get(isEnded.turn.turn)
    t.false('ranForMs' in Object(live), 'it waits')
    live?.end(failure('cancelled', 'Enough.'))
    t.is(refused(await isEnded.came), 'cancelled: Enough.')
    await live?.over
    t.deepEqual(left, [hangsUp.turn.turn, isEnded.turn.turn])
    t.true(isEmpty(), what)
  }
})

test('who has waited too long is told to come again', async t => {
  for (const what of ['slot', 'money', 'thread'] as const) {
    const { script, left, ask, isEmpty } = await aLine(t, { queueTimeoutMs: 60 })
    script.first = () => waiting(what)
    script.later = () => waiting(what)
    const { turn, came } = ask()
    const tooLong = 'It waited 60 ms for worker, as long as its queueTimeout allows.'
    t.deepEqual(await came, E.left(failure('busy', tooLong, 1000)))
    t.deepEqual(left, [turn.turn])
    t.true(isEmpty(), what)
  }
})

test('a turn that runs hears why it is to end: its caller is gone, or the time of the turn that asked is up', async t => {
  const { ask } = await aLine(t, { concurrency: 9 })
  const hangUp = new AbortController()
  const turn = held(await ask({}, { hungUp: hangUp.signal }).came)
  hangUp.abort()
  t.deepEqual(turn.ended.reason, failure('cancelled', 'The caller hung up.'))
  const parent = { turn: 'p', root: 'r', instance: 'caller', depth: 1, owner: 'o', deadlineAtMs: nowMs + 100 }
  const late = held(await ask({ parent }).came)
  await new Promise(resolve => late.ended.addEventListener('abort', resolve))
  t.like(late.ended.reason, { code: 'timeout' })
})

test('a turn that is done hears of no caller and no clock any more', async t => {
  const { ask } = await aLine(t, { concurrency: 9 })
  const hangUp = new AbortController()
  const parent = { turn: 'p', root: 'r', instance: 'caller', depth: 1, owner: 'o', deadlineAtMs: nowMs + 50 }
  const turn = held(await ask({ parent }, { hungUp: hangUp.signal }).came)
  turn.done()
  hangUp.abort()
  const later = held(await ask({ parent }).came)
  await new Promise(resolve => later.ended.addEventListener('abort', resolve))
  t.false(turn.ended.aborted)
})

test('a ledger that throws takes no place in the line with it', async t => {
  const { script, ask, isEmpty } = await aLine(t)
  script.first = () => {
    throw new Error('a bug')
  }
  await t.throwsAsync(ask().came, { message: 'a bug' })
  t.true(isEmpty())
})
