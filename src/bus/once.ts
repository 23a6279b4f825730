import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as T from 'fp-ts/lib/Task.js'
import type { Claimed } from '../budget/requests.ts'
import { retryBusyAfterMs } from '../budget/sentences.ts'
import { decodeEnvelope, type Envelope, type ReplyFacts } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Admitted } from './admit.ts'
import type { Bus } from './bus.ts'
import { callersOf } from './callers.ts'
import { type NewTurn, newTurn } from './identity.ts'
import type { Waiter } from './waiter.ts'

/** How a talk is answered. */
export interface Answering {
  readonly facts: () => ReplyFacts
  readonly refuse: (why: Failure, turn?: string) => T.Task<Envelope>
  /** Carries it out as a new turn; `keyed`: what it is answered with is kept as soon as it is settled. */
  readonly carryOut: (talk: Admitted, waiter: Waiter, turn: NewTurn, keyed: boolean) => T.Task<Envelope>
}

/**
 * Carries a talk out; one with an idempotency key once, whoever sends it again: while it runs they are joined, afterwards
 * they get its answer for a day. An answer that says to try again sets the key free, and so does a refusal: nothing ran.
 */
export const once =
  (bus: Bus, { keys, hungUp, tell }: Waiter & { readonly keys: readonly string[] }, answering: Answering) =>
  (talk: Admitted): T.Task<Envelope> => {
    const { facts, refuse, carryOut } = answering
    const [key, another] = keys
    if (key === undefined) return carryOut(talk, { hungUp, tell }, newTurn(), false)
    if (another !== undefined || !isKey(key)) return refuse(noKey)
    const bodyDigest = digestOf(talk)
    const parent = talk.parent?.turn
    const name = JSON.stringify([talk.from, key])
    const running = bus.shared.get(name)
    if (running !== undefined && running.bodyDigest !== bodyDigest) return refuse(otherBody(key))
    // Whoever waits for a talk of another turn is seen by nobody who looks for circles.
    if (running !== undefined && running.parent !== parent) return refuse(runsElsewhere(running.turn), running.turn)
    // That one is about to end, and whoever comes now has not given up.
    if (running?.allGone.aborted === true) {
      return async () => {
        await running.envelope.catch(() => undefined)
        return once(bus, { keys, hungUp, tell }, answering)(talk)()
      }
    }
    if (running !== undefined) {
      running.join({ hungUp, tell })
      return async () => forCaller(await running.envelope, facts())
    }
    const callers = callersOf(bus.host.keyedPatienceMs, mayComeBack(bus, parent))
    callers.join({ hungUp, tell })
    const turn = newTurn()
    const all = { hungUp: callers.allGone, tell: callers.tell, waitedFor: callers.waitedFor }
    const envelope = claimed(bus, { talk, key, bodyDigest, turn }, all, answering)
    const { allGone, join } = callers
    bus.shared.set(name, { bodyDigest, parent, turn: turn.turn, envelope, allGone, join })
    return () =>
      envelope.finally(() => {
        callers.end()
        bus.shared.delete(name)
      })
  }

interface Request {
  readonly talk: Admitted
  readonly key: string
  readonly bodyDigest: string
  readonly turn: NewTurn
}

const claimed = async (
  { host, instance }: Bus,
  { talk, key, bodyDigest, turn }: Request,
  waiter: Waiter,
  { facts, refuse, carryOut }: Answering,
): Promise<Envelope> => {
  const keyed = { sender: talk.from, instance: instance.name, key, bodyDigest, turn: turn.turn, owner: host.owner }
  const claim = await host.ledger.claim(keyed)()
  if (E.isLeft(claim)) return refuse(claim.left)()
  if (claim.right.kind === 'answered') {
    return pipe(kept(claim.right.envelope, key, facts()), E.match(refuse, T.of))()
  }
  if (claim.right.kind !== 'new') return refuse(...whyNot(claim.right, key))()
  let envelope: Envelope | undefined
  try {
    envelope = await carryOut(talk, waiter, turn, true)()
    return envelope
  } finally {
    if (envelope?.ext?.turn === undefined) {
      const freed = await host.ledger.unclaim(turn.turn)()
      if (E.isLeft(freed)) host.log('note-failed', { what: 'unclaim', reason: freed.left.sentence }, 'warn')
    }
  }
}

/** What a key keeps of the answer of its turn; nothing where that says itself that another run could give a better one. */
export const toKeep = (envelope: Envelope): string | undefined =>
  envelope.success || !envelope.retryable ? JSON.stringify(envelope) : undefined

const kept = (json: string, key: string, facts: ReplyFacts): E.Either<Failure, Envelope> =>
  pipe(
    E.tryCatch(
      (): unknown => JSON.parse(json),
      () => 'it is no JSON',
    ),
    E.chain(value => decodeEnvelope(value, facts)),
    E.bimap(
      why =>
        failure(
          'session_state',
          `The answer kept for the idempotency key "${key}" cannot be read: ${why}. Send the talk with another key.`,
        ),
      envelope => forCaller(envelope, facts),
    ),
  )

const whyNot = (
  claim: Exclude<Claimed, { kind: 'new' | 'answered' }>,
  key: string,
): readonly [why: Failure, turn?: string] => {
  switch (claim.kind) {
    case 'conflict':
      return [otherBody(key)]
    case 'open':
      return [runsElsewhere(claim.turn), claim.turn]
    case 'cut':
      return [cutByCrash(claim.turn), claim.turn]
  }
}

const forCaller = (envelope: Envelope, { capabilities, durationMs }: ReplyFacts): Envelope => ({
  ...envelope,
  durationMs,
  ...(capabilities === undefined ? {} : { capabilities }),
})

/** A turn that asked does not come back once it is over; whoever else is gone may. */
const mayComeBack =
  ({ host }: Bus, parent: string | undefined) =>
  async (): Promise<boolean> => {
    if (parent === undefined) return true
    const family = await host.ledger.family(parent)()
    return E.isLeft(family) || family.right.some(({ turn, state }) => turn === parent && state === 'running')
  }

const digestOf = ({ prompt, depth, thread }: Admitted): string =>
  createHash('sha256')
    .update(JSON.stringify([prompt, depth, thread]))
    .digest('hex')

// As much as a UUID, a digest or a path of steps needs.
const isKey = (key: string): boolean => /^[\x21-\x7e]{1,200}$/.test(key)

const noKey = failure('invalid_request', 'Idempotency-Key must be one header of 1 to 200 visible ASCII characters.')

const otherBody = (key: string): Failure =>
  failure(
    'idempotency_conflict',
    `The idempotency key "${key}" came before with another talk. Give each talk its own key.`,
  )

const runsElsewhere = (turn: string): Failure =>
  failure('busy', `The talk with this idempotency key is not over yet, as turn ${turn}.`, retryBusyAfterMs)

const cutByCrash = (turn: string): Failure =>
  failure(
    'cancelled',
    `Its host died in the middle of turn ${turn}. It is not run again under this key; send the talk with another one.`,
  )
