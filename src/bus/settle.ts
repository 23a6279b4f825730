import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Ended, Keeps, Settled } from '../budget/ledger.ts'
import {
  type Envelope,
  failureEnvelope,
  type ReplyExt,
  type ReplyFacts,
  successEnvelope,
} from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { usdFrom } from '../protocol/money.ts'
import type { Bus } from './bus.ts'
import type { HeldTurn } from './hold.ts'
import type { Host } from './host.ts'
import { type ThreadReport, threadEndOf } from './thread.ts'

const retryAfterMs = 500

/**
 * Replaces the hold by what the turn truly cost, frees its slot and ends the talks that it left open. If the cost cannot be
 * written, the reply is still the turn's own; writing is tried again, and the bus takes no new talk until it is done.
 */
export const settle =
  (bus: Bus, turn: HeldTurn, report: ThreadReport, keeps?: Keeps): T.Task<Settled> =>
  async () => {
    const { host, instance } = bus
    const ended = endedOf(turn, report)
    const settled = await settleOrLater(host, ended, keeps).finally(turn.done)
    const cost = E.isRight(settled) ? settled.right : report.cost
    host.log('ended', {
      turn: turn.turn,
      instance: instance.name,
      outcome: ended.outcome,
      costUsd: usdFrom(cost.microUsd),
      basis: cost.basis,
    })
    return cost
  }

const settleOrLater = async (
  host: Host,
  ended: Ended,
  keeps: Keeps | undefined,
): Promise<E.Either<Failure, Settled>> => {
  const settled = await host.ledger.settle(ended, keeps)()
  // Only now: until its row is done, its token may still bring one more.
  await endChildren(host, ended.turn)
  if (E.isLeft(settled)) {
    host.log('settle-failed', { turn: ended.turn, reason: settled.left.sentence }, 'error')
    host.unsettled.add(ended.turn)
    void settleLater(host, ended, keeps)
  }
  return settled
}

/** The envelope of a turn that ran, whatever became of it. */
export const replyOf = (turn: HeldTurn, report: ThreadReport, settled: Settled, facts: ReplyFacts): Envelope => {
  const { outcome, model, tokens, partialText, lostThread } = report
  const { thread } = turn.talk
  const warning = [lostThread && lost(lostThread), settled.warning].filter(one => one !== undefined).join(' ')
  const ext: ReplyExt = {
    turn: turn.turn,
    costUsd: usdFrom(settled.microUsd),
    basis: settled.basis,
    tokens,
    ...(model === undefined ? {} : { model }),
    ...(thread === undefined ? {} : { thread }),
    ...(warning === '' ? {} : { warning }),
  }
  if (E.isLeft(outcome)) {
    return failureEnvelope(outcome.left, { ...facts, ext: partialText === undefined ? ext : { ...ext, partialText } })
  }
  const { text, denied } = outcome.right
  return successEnvelope(text, { ...facts, ext: denied === undefined ? ext : { ...ext, denied } })
}

const lost = (thread: string): string =>
  `The CLI has lost the session of thread ${thread}, so a new one began: it knows nothing of what was said before.`

const endedOf = ({ turn, talk, resume }: HeldTurn, report: ThreadReport): Ended => {
  const { outcome, cost, tokens, model, session } = report
  const threadEnd = talk.thread === undefined ? undefined : threadEndOf(report, resume)
  return {
    turn,
    cost,
    tokens,
    ...(E.isLeft(outcome)
      ? { outcome: outcome.left.code, error: outcome.left.sentence }
      : { outcome: 'success', answer: outcome.right.text }),
    ...(model === undefined ? {} : { model }),
    ...(session === undefined ? {} : { session }),
    ...(threadEnd === undefined ? {} : { threadEnd }),
  }
}

/** Children in other processes end with their callers, which were processes of this turn. */
const endChildren = async ({ ledger, live }: Host, parent: string): Promise<void> => {
  const children = await ledger.children(parent)()
  if (E.isLeft(children)) return
  for (const child of children.right)
    live.get(child)?.end(failure('cancelled', 'The turn that asked for it has ended.'))
}

const settleLater = async ({ ledger, unsettled }: Host, ended: Ended, keeps: Keeps | undefined): Promise<void> => {
  for (;;) {
    await pause(retryAfterMs, undefined, { ref: false })
    const settled = await ledger.settle(ended, keeps)()
    if (E.isLeft(settled)) continue
    unsettled.delete(ended.turn)
    return
  }
}
