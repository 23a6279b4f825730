import * as E from 'fp-ts/lib/Either.js'
import type { Cost } from '../budget/budget.ts'
import type { ThreadEnd, ThreadSession } from '../budget/threads.ts'
import type { TurnReport } from '../engine/report.ts'
import { failure } from '../protocol/failure.ts'
import type { HeldTurn } from './hold.ts'

/** A turn that may have been run twice, since the CLI had lost the session of its thread. */
export interface ThreadReport extends TurnReport {
  readonly lostThread?: string
}

/**
 * Runs a turn on the session of its thread. One that the CLI has lost is tried once more without it, and that is told:
 * what was said before is not known any more.
 */
export const onThread = async (
  { talk: { thread }, resume, ended }: Pick<HeldTurn, 'talk' | 'resume' | 'ended'>,
  run: (resume: ThreadSession | undefined) => Promise<TurnReport>,
): Promise<ThreadReport> => {
  const first = await run(resume)
  if (thread === undefined || resume === undefined || !isLost(first) || ended.aborted) return first
  const second = await run(undefined)
  return {
    ...second,
    ...(isLost(second) ? { outcome: E.left(lostTwice(thread, second)) } : {}),
    cost: bothCosts(first.cost, second.cost),
    tokens: first.tokens + second.tokens,
    lostThread: thread,
  }
}

/** Where the thread goes on from; absent, where it went on from before. */
export const threadEndOf = (report: ThreadReport): ThreadEnd | undefined => {
  const { outcome, session, sessionTotal, lostThread } = report
  const reached = E.isRight(outcome) || cuts.has(outcome.left.code)
  if (!reached || session === undefined) return lostThread !== undefined || isLost(report) ? 'lost' : undefined
  return {
    session,
    ...(sessionTotal?.microUsd === undefined ? {} : { totalMicroUsd: sessionTotal.microUsd }),
    ...(sessionTotal?.tokens === undefined ? {} : { totalTokens: sessionTotal.tokens }),
  }
}

// A turn that was cut has said something already, and its session is there.
const cuts: ReadonlySet<string> = new Set(['timeout', 'cancelled', 'budget_exhausted'])

const isLost = ({ outcome }: TurnReport): boolean => E.isLeft(outcome) && outcome.left.code === 'session_state'

const lostTwice = (thread: string, { outcome }: TurnReport) =>
  failure(
    'session_state',
    `The session of thread ${thread} is lost, and no new one could begin: ${E.isLeft(outcome) ? outcome.left.sentence : ''}`,
  )

const bothCosts = (one: Cost, other: Cost): Cost => {
  if (one.basis === 'none') return other
  if (other.basis === 'none') return one
  const basis = one.basis === 'unknown' || other.basis === 'unknown' ? 'unknown' : other.basis
  return { microUsd: one.microUsd + other.microUsd, basis }
}
