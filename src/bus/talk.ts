import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../protocol/decode.ts'
import { decodeTalkRequest, type Envelope, failureEnvelope } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import { admit } from './admit.ts'
import type { Bus } from './bus.ts'
import { hold } from './hold.ts'
import { authenticate } from './identity.ts'
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
    const facts = () => ({ fromInstance: bus.instance.name, durationMs: bus.host.now() - heardAtMs })
    return pipe(
      authenticate(bus.host)(heard.authorization),
      TE.bindTo('caller'),
      TE.bind('body', () => heard.body),
      TE.bindW('talk', ({ body }) => TE.fromEither(decodeTalkRequest(body))),
      TE.chainEitherKW(({ caller, talk }) => admit(bus.instance, caller)(talk)),
      TE.chain(hold(bus, heard.hungUp)),
      TE.bindTo('turn'),
      TE.bind('report', ({ turn }) => TE.fromTask(runTurn(bus, turn))),
      TE.bind('settled', ({ turn, report }) => TE.fromTask(settle(bus, turn, report))),
      TE.matchW(
        refusal => {
          bus.host.log('refused', { instance: bus.instance.name, code: refusal.code, reason: refusal.sentence })
          return failureEnvelope(refusal, facts())
        },
        ({ turn, report, settled }) => replyOf(turn, report, settled, facts()),
      ),
    )
  }
