import { pipe } from 'fp-ts/lib/function.js'
import * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Settled } from '../budget/ledger.ts'
import { setIn } from '../budget/sentences.ts'
import { stopwatch } from '../process/stopwatch.ts'
import type { Json } from '../protocol/decode.ts'
import { type Envelope, failureEnvelope, type ReplyFacts } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import { decodeTalkRequest, type TalkRequest } from '../protocol/talk-request.ts'
import { capabilitiesFor } from '../protocol/version.ts'
import { type Admitted, admit } from './admit.ts'
import type { Bus } from './bus.ts'
import { hold } from './hold.ts'
import { type Answering, once, toKeep } from './once.ts'
import { replyOf, settle } from './settle.ts'
import { runTurn } from './turn.ts'
import type { Waiter } from './waiter.ts'

/** A talk as it is heard: nothing of its body is read before its sender is known. */
export interface Heard extends Waiter {
  readonly authorization: readonly string[]
  readonly body: TE.TaskEither<Failure, Json>
  /** The values of `Idempotency-Key`: those who send the same talk under the same key share one turn. */
  readonly keys: readonly string[]
}

/** The whole of a talk: admit (authenticate → decode → depth → peer) → once → hold → run → settle → reply. */
export const talk =
  (bus: Bus) =>
  (heard: Heard): T.Task<Envelope> => {
    const { facts, hear } = answering(bus)
    return pipe(
      admitted(bus, heard, hear),
      TE.matchE(
        refuse(bus, facts),
        once(bus, heard, { facts, refuse: refuse(bus, facts), carryOut: carryOut(bus, facts) }),
      ),
    )
  }

const carryOut =
  (bus: Bus, facts: () => ReplyFacts): Answering['carryOut'] =>
  (talk, waiter, newTurn, keyed) =>
    pipe(
      hold(bus, waiter, talk, newTurn),
      TE.mapLeft(setIn(bus.host.configFile)),
      TE.matchE(refuse(bus, facts), turn =>
        pipe(
          runTurn(bus, turn, waiter.tell),
          T.chain(report => {
            const reply = (settled: Settled): Envelope => replyOf(turn, report, settled, facts())
            const keeps = (settled: Settled): string | undefined => toKeep(reply(settled))
            return pipe(settle(bus, turn, report, keyed ? keeps : undefined), T.map(reply))
          }),
        ),
      ),
    )

const admitted = (
  bus: Bus,
  { authorization, body }: Heard,
  hear: (talk: TalkRequest) => TalkRequest,
): TE.TaskEither<Failure, Admitted> =>
  pipe(
    bus.authenticate(authorization),
    TE.chain(caller =>
      pipe(
        body,
        TE.chainEitherK(decodeTalkRequest),
        TE.map(hear),
        TE.chainEitherK(admit(bus.instance, caller, bus.host.configFile)),
      ),
    ),
  )

/** What every answer says of the talk: how long it took, and in terms that its caller knows, once those were heard. */
const answering = ({ instance }: Bus) => {
  const elapsedMs = stopwatch()
  let capabilities = capabilitiesFor([])
  return {
    hear: (talk: TalkRequest): TalkRequest => {
      capabilities = capabilitiesFor(talk.capabilities ?? [])
      return talk
    },
    facts: (): ReplyFacts => ({ fromInstance: instance.name, durationMs: elapsedMs(), capabilities }),
  }
}

/** Refusals are told and logged; they are no turns. */
const refuse =
  ({ host, instance }: Bus, facts: () => ReplyFacts) =>
  (why: Failure, turn?: string): T.Task<Envelope> => {
    host.log('refused', { instance: instance.name, code: why.code, reason: why.sentence })
    return T.of(failureEnvelope(why, turn === undefined ? facts() : { ...facts(), ext: { turn } }))
  }
