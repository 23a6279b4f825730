import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { TurnRecord } from '../budget/ledger.ts'
import { askToCancel } from '../client/cancel.ts'
import { type Envelope, failureEnvelope, successEnvelope } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import { resolve } from './resolve.ts'
import { speakerOf } from './speaker.ts'
import type { State } from './state.ts'

/** `errand cancel`: has the instance that runs a turn end it, and all that it delegated. Never rejects. */
export const cancelTurn =
  (state: State, { turn, instance, state: stands, outcome }: TurnRecord): T.Task<Envelope> =>
  async () => {
    const facts = { fromInstance: instance, durationMs: 0 }
    const refused = (why: Failure) => failureEnvelope(why, facts)
    const speaker = await speakerOf(state, {})()
    if (E.isLeft(speaker)) return refused(speaker.left)
    if (stands === 'done') return successEnvelope(`Turn ${turn} of ${instance} was over already (${outcome}).`, facts)
    const target = await resolve(state, instance, { absentMs: 0 })()
    if (E.isLeft(target)) return refused(target.left.why)
    return (await askToCancel(target.right, turn, speaker.right, { now: state.where.now })()).envelope
  }
