import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Allowance } from '../budget/budget.ts'
import type { Entered, Entry, WaitsFor } from '../budget/ledger.ts'
import { retryBusyAfterMs } from '../budget/sentences.ts'
import type { ThreadSession } from '../budget/threads.ts'
import { endedBy } from '../engine/reasons.ts'
import { after } from '../engine/timer.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Admitted } from './admit.ts'
import type { Bus } from './bus.ts'
import { inheritedDeadline } from './deadline.ts'
import type { LiveTalk } from './host.ts'
import type { NewTurn } from './identity.ts'
import type { Instance } from './instance.ts'
import type { Ticket } from './queue.ts'
import type { Waiter } from './waiter.ts'

/** A turn with its money held and its slot taken; `done` frees the slot. */
export interface HeldTurn extends NewTurn {
  readonly talk: Admitted
  readonly allowance: Allowance
  /** The provider's session that its thread goes on with. */
  readonly resume?: ThreadSession
  /** Aborts with the failure that ends it. */
  readonly ended: AbortSignal
  readonly done: () => void
}

// Money, or a thread, may be freed by another process, of which no event comes here.
const pollMs = 50

/** Waits, as far as the rules allow it, for a slot and for money; then both are this talk's. */
export const hold =
  (bus: Bus, { hungUp, tell, waitedFor }: Waiter, talk: Admitted, turn: NewTurn): TE.TaskEither<Failure, HeldTurn> =>
  async () => {
    const refusal = refusalNow(bus)
    if (refusal) return E.left(refusal)

    const deadline = inheritedDeadline(talk, bus.host.now())
    // Begun now, it would be ended before it said what it cost.
    if (deadline?.leftMs === 0) return E.left(deadline.why)
    const entry = entryOf(bus, talk, turn, deadline?.atMs)
    const ending = new AbortController()
    const end = (why: Failure): void => ending.abort(why)
    const onHangUp = (): void => end(failure('cancelled', 'The caller hung up.'))
    if (hungUp.aborted) return E.left(failure('cancelled', 'The caller hung up.'))
    hungUp.addEventListener('abort', onHangUp, { once: true })
    const clock = deadline && after(deadline.leftMs, () => end(deadline.why))
    clock?.start()
    const ticket = bus.queue.join(laneOf(talk))
    const over = Promise.withResolvers<void>()
    const live: LiveTalk = {
      ...{ turn: turn.turn, instance: bus.instance.name, end, over: over.promise },
      ...(waitedFor === undefined ? {} : { waitedFor }),
    }
    bus.host.live.set(turn.turn, live)

    const forget = (): void => {
      clock?.stop()
      hungUp.removeEventListener('abort', onHangUp)
      bus.host.live.delete(turn.turn)
      over.resolve()
    }
    const accepted = (): void => tell?.({ kind: 'accepted', turn: entry.turn, root: entry.root, depth: entry.depth })
    let release: (() => void) | undefined
    try {
      const entered = await enterLine(bus, entry, ticket, ending.signal, accepted)
      if (E.isLeft(entered)) return entered
      release = ticket.take()
      live.ranForMs = stopwatch()
      const done = (): void => {
        forget()
        release?.()
      }
      return E.right({ ...turn, ...entered.right, talk, ended: ending.signal, done })
    } finally {
      if (release === undefined) {
        ticket.leave()
        forget()
      }
    }
  }

const refusalNow = ({ host, instance, queue, stopping }: Bus): Failure | undefined => {
  if (stopping) return failure('instance_unavailable', `Instance ${instance.name} is stopping.`)
  if (host.unsettled.size > 0) {
    const turns = [...host.unsettled].join(', ')
    return failure('internal_error', `The cost of turn ${turns} could not be written yet; new talks wait for that.`)
  }
  const full = queue.running() + queue.waiting() >= instance.concurrency
  return full && queue.waiting() >= instance.queueLimit
    ? failure('busy', `${queue.waiting()} talks wait for ${instance.name} already.`, retryBusyAfterMs)
    : undefined
}

const entryOf = (
  { host, instance }: Bus,
  talk: Admitted,
  { turn, tokenDigest }: NewTurn,
  latestEndMs: number | undefined,
): Entry => ({
  turn,
  root: talk.parent?.root ?? talk.root ?? turn,
  ...(talk.parent ? { parent: talk.parent.turn } : {}),
  instance: instance.name,
  from: talk.from,
  depth: talk.depth,
  ...(talk.thread === undefined ? {} : { thread: talk.thread }),
  engine: instance.settings.engine.name,
  ...(instance.settings.model === undefined ? {} : { model: instance.settings.model }),
  owner: host.owner,
  tokenDigest,
  limits: instance.limits,
  maxTurnsPerRoot: instance.maxTurnsPerRoot,
  timeoutMs: instance.settings.timeoutMs,
  ...(latestEndMs === undefined ? {} : { latestEndMs }),
})

/** The first try records it where it must wait; later ones are made when the line has changed, or money may be free. */
const enterLine = async (
  bus: Bus,
  entry: Entry,
  ticket: Ticket,
  ended: AbortSignal,
  accepted: () => void,
): Promise<E.Either<Failure, Held>> => {
  const { host, instance, queue } = bus
  const tries = ticket.tries()
  const first = await host.ledger.enter(entry, tries, queue.slotFree())()
  if (E.isLeft(first)) return first
  accepted()
  if (first.right.state === 'running') return E.right(heldOf(first.right))
  if (tries) ticket.pass(isItsOwn(first.right.for))
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(tooLong(instance)), instance.queueTimeoutMs).unref()
  const waited = await waitInLine(bus, entry, ticket, AbortSignal.any([ended, late.signal]), first.right.for)
  clearTimeout(timer)
  if (E.isLeft(waited)) await host.ledger.leave(entry.turn)()
  return waited
}

const waitInLine = async (
  { host: { ledger }, queue }: Bus,
  entry: Entry,
  ticket: Ticket,
  until: AbortSignal,
  first: WaitsFor,
): Promise<E.Either<Failure, Held>> => {
  let waitsFor = first
  for (;;) {
    if (until.aborted) return E.left(endedBy(until))
    if (ticket.tries()) {
      const entered = await ledger.hold(entry)()
      if (E.isLeft(entered)) return entered
      if (entered.right.state === 'running') return E.right(heldOf(entered.right))
      waitsFor = entered.right.for
      ticket.pass(isItsOwn(waitsFor))
    }
    // Whoever stepped aside is no part of the line's changes, and so does not make them either.
    if (isItsOwn(waitsFor)) await sleep(pollMs, undefined, { signal: until }).catch(() => undefined)
    else await queue.change(waitsFor === 'slot' ? until : pollAgain(until))
  }
}

/** Those behind it need not wait for it. */
const isItsOwn = (waitsFor: WaitsFor): boolean => waitsFor === 'thread' || waitsFor === 'work'

// Of one thread, nobody overtakes another.
const laneOf = ({ from, thread }: Admitted): string | undefined =>
  thread === undefined ? undefined : JSON.stringify([from, thread])

type Held = Pick<HeldTurn, 'allowance' | 'resume'>

const heldOf = ({ allowance, resume }: Extract<Entered, { state: 'running' }>): Held => ({
  allowance,
  ...(resume === undefined ? {} : { resume }),
})

const pollAgain = (until: AbortSignal): AbortSignal => AbortSignal.any([until, AbortSignal.timeout(pollMs)])

const tooLong = ({ name, queueTimeoutMs }: Instance): Failure =>
  failure('busy', `It waited ${queueTimeoutMs} ms for ${name}, as long as its queueTimeout allows.`, retryBusyAfterMs)
