import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Claimed } from '../budget/requests.ts'
import { retryBusyAfterMs } from '../budget/sentences.ts'
import {
  decodeEnvelope,
  type Envelope,
  failureEnvelope,
  type ReplyFacts,
  successEnvelope,
} from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Admitted } from './admit.ts'
import type { Bus } from './bus.ts'
import { callersOf } from './callers.ts'
import { type NewTurn, newTurn } from './identity.ts'
import type { Waiter } from './waiter.ts'

/** Carries a talk out as a new turn. */
export type CarryOut = (talk: Admitted, waiter: Waiter, turn: NewTurn) => T.Task<Envelope>

/**
 * Carries a talk out; one with an idempotency key once, whoever sends it again: while it runs they are joined, afterwards
 * they get its answer for a day. An answer that says to try again sets the key free, and so does a refusal: nothing ran.
 */
export const once =
  (
    bus: Bus,
    { key, hungUp, tell }: Waiter & { readonly key?: string | undefined },
    facts: () => ReplyFacts,
    carryOut: CarryOut,
  ) =>
  (talk: Admitted): T.Task<Envelope> =>
  async () => {
    if (key === undefined) return carryOut(talk, { hungUp, tell }, newTurn())()
    if (!isKey(key)) return failureEnvelope(noKey, facts())
    const bodyDigest = digestOf(talk)
    const name = JSON.stringify([talk.from, key])
    const running = bus.shared.get(name)
    if (running !== undefined && running.bodyDigest !== bodyDigest) return failureEnvelope(otherBody(key), facts())
    if (running !== undefined) {
      running.join({ hungUp, tell })
      return forCaller(await running.envelope, facts())
    }
    const callers = callersOf(bus.host.keyedPatienceMs, mayComeBack(bus, talk.parent?.turn))
    callers.join({ hungUp, tell })
    const envelope = claimed(bus, { talk, key, bodyDigest }, facts, turn =>
      carryOut(talk, { hungUp: callers.allGone, tell: callers.tell }, turn)(),
    )
    bus.shared.set(name, { bodyDigest, envelope, join: callers.join })
    return envelope.finally(() => {
      callers.stop()
      bus.shared.delete(name)
    })
  }

interface Request {
  readonly talk: Admitted
  readonly key: string
  readonly bodyDigest: string
}

const claimed = async (
  { host, instance }: Bus,
  { talk, key, bodyDigest }: Request,
  facts: () => ReplyFacts,
  carryOut: (turn: NewTurn) => Promise<Envelope>,
): Promise<Envelope> => {
  const turn = newTurn()
  const keyed = { sender: talk.from, instance: instance.name, key, bodyDigest, turn: turn.turn, owner: host.owner }
  const claim = await host.ledger.claim(keyed)()
  if (E.isLeft(claim)) return failureEnvelope(claim.left, facts())
  if (claim.right.kind !== 'new') return answeredBefore(claim.right, key, facts())
  let kept: string | undefined
  try {
    const envelope = await carryOut(turn)
    if (isFinal(envelope)) kept = JSON.stringify(envelope)
    return envelope
  } finally {
    const noted = await host.ledger.answered(turn.turn, kept)()
    if (E.isLeft(noted)) host.log('note-failed', { what: 'answered', reason: noted.left.sentence }, 'warn')
  }
}

/** What a key that is taken is answered with. */
const answeredBefore = (claim: Exclude<Claimed, { kind: 'new' }>, key: string, facts: ReplyFacts): Envelope => {
  switch (claim.kind) {
    case 'conflict':
      return failureEnvelope(otherBody(key), facts)
    case 'open':
      return failureEnvelope(runsElsewhere(claim.turn), { ...facts, ext: { turn: claim.turn } })
    case 'cut':
      return claim.outcome === 'success' && claim.answer !== undefined
        ? successEnvelope(claim.answer, { ...facts, ext: { turn: claim.turn } })
        : failureEnvelope(cutByCrash(claim.turn), { ...facts, ext: { turn: claim.turn } })
    case 'answered':
      return pipe(
        E.tryCatch(
          (): unknown => JSON.parse(claim.envelope),
          () => 'it is no JSON',
        ),
        E.chain(json => decodeEnvelope(json, facts)),
        E.match(
          why =>
            failureEnvelope(
              failure('session_state', `The answer kept for key "${key}" cannot be read: ${why}.`),
              facts,
            ),
          envelope => forCaller(envelope, facts),
        ),
      )
  }
}

/** The answer of a turn that ran; another run could only give another one where it says so itself. */
const isFinal = (envelope: Envelope): boolean =>
  envelope.ext?.turn !== undefined && (envelope.success || !envelope.retryable)

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

const noKey = failure('invalid_request', 'Idempotency-Key must be 1 to 200 visible ASCII characters.')

const otherBody = (key: string): Failure =>
  failure(
    'idempotency_conflict',
    `The idempotency key "${key}" came before with another talk. Give each talk its own key.`,
  )

const runsElsewhere = (turn: string): Failure =>
  failure('busy', `The talk with this key still runs in another process, as turn ${turn}.`, retryBusyAfterMs)

const cutByCrash = (turn: string): Failure =>
  failure(
    'cancelled',
    `Its host died in the middle of turn ${turn}. It is not run again under this key; send the talk with another one.`,
  )
