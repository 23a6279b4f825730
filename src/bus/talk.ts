import { pipe } from 'fp-ts/lib/function.js'
import * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../protocol/decode.ts'
import { decodeTalkRequest, type Envelope, failureEnvelope, type ReplyFacts } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import { type Admitted, admit } from './admit.ts'
import type { Bus } from './bus.ts'
import { hold } from './hold.ts'
import { replyOf, settle } from './settle.ts'
import { runTurn } from './turn.ts'

/** A talk as it is heard: nothing of its body is read before its sender is known. */
export interface Heard {
  readonly authorization: readonly string[]
  readonly body: TE.TaskEither<Failure, Json>
  /** Aborts when the caller is gone. */
  readonly hungUp: AbortSignal
}

/** The whole of a talk: admit (authenticate → decode → depth → peer) → hold → run → settle → reply. */
export const talk =
  (bus: Bus) =>
  (heard: Heard): T.Task<Envelope> => {
    const heardAtMs = bus.host.now()
    const facts = (): ReplyFacts => ({ fromInstance: bus.instance.name, durationMs: bus.host.now() - heardAtMs })
    return pipe(
      admitted(bus, heard),
      TE.chain(hold(bus, heard.hungUp)),
      TE.matchE(refuse(bus, facts), turn =>
        pipe(
          runTurn(bus, turn),
          T.chain(report =>
            pipe(
              settle(bus, turn, report),
              T.map(settled => replyOf(turn, report, settled, facts())),
            ),
          ),
        ),
      ),
    )
  }

const admitted = (bus: Bus, { authorization, body }: Heard): TE.TaskEither<Failure, Admitted> =>
  pipe(
    bus.authenticate(authorization),
    TE.chain(caller => pipe(body, TE.chainEitherK(decodeTalkRequest), TE.chainEitherK(admit(bus.instance, caller)))),
  )

/** Refusals are told and logged; they are no turns. */
const refuse =
  ({ host, instance }: Bus, facts: () => ReplyFacts) =>
  (why: Failure): T.Task<Envelope> => {
    host.log('refused', { instance: instance.name, code: why.code, reason: why.sentence })
    return T.of(failureEnvelope(why, facts()))
  }
