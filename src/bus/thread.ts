import * as E from 'fp-ts/lib/Either.js'
import type { Allowance, Cost } from '../budget/budget.ts'
import type { ThreadEnd, ThreadSession } from '../budget/threads.ts'
import { sweepNow } from '../engine/reap.ts'
import type { TurnReport } from '../engine/report.ts'
import { failure } from '../protocol/failure.ts'
import type { HeldTurn } from './hold.ts'

/** A turn that may have been run twice, since the CLI had lost the session of its thread. */
export interface ThreadReport extends TurnReport {
  readonly lostThread?: string
}

/**
 * Runs a turn on the session of its thread. One that the CLI has lost is tried once more without it, unless the CLI began
 * anew by itself; either way it is told, since what was said before is not known any more. Both together have one hold.
 */
export const onThread = async (
  { talk: { thread }, resume, ended, allowance }: Pick<HeldTurn, 'talk' | 'resume' | 'ended' | 'allowance'>,
  run: (resume: ThreadSession | undefined, allowance: Allowance) => Promise<TurnReport>,
): Promise<ThreadReport> => {
  const first = await run(resume, allowance)
  if (thread === undefined || resume === undefined) return first
  if (isLost(first) ? ended.aborted : first.strayed !== true) return first
  if (!isLost(first)) return { ...first, lostThread: thread }
  const left = leftOf(allowance, first)
  if (left.microUsd === 0 || left.tokens === 0) return first
  // What is left of the first one is looked for by the mark of the turn, which the second one carries too.
  await sweepNow()
  const second = await run(undefined, left)
  return {
    ...second,
    ...(isLost(second) ? { outcome: E.left(lostTwice(thread, second)) } : {}),
    cost: bothCosts(first.cost, second.cost),
    tokens: first.tokens + second.tokens,
    lostThread: thread,
  }
}

const leftOf = ({ microUsd, tokens }: Allowance, { cost, tokens: used }: TurnReport): Allowance => ({
  ...(microUsd === undefined ? {} : { microUsd: Math.max(0, microUsd - cost.microUsd) }),
  ...(tokens === undefined ? {} : { tokens: Math.max(0, tokens - used) }),
})

/** Where the thread goes on from; absent, where it went on from before. A session that is lost is never taken up again. */
export const threadEndOf = (report: ThreadReport, resume: ThreadSession | undefined): ThreadEnd | undefined => {
  const { outcome, session, lostThread } = report
  if (isLost(report)) return 'lost'
  const isReached = E.isRight(outcome) || cuts.has(outcome.left.code)
  const isSame = session !== undefined && session === resume?.session
  if (session !== undefined && (isReached || isSame))
    return { session, ...totalsOf(report, isSame ? resume : undefined) }
  return lostThread === undefined ? undefined : 'lost'
}

/** What the session has come to: as the CLI told it, else as it was before, with what the turn cost. */
const totalsOf = (
  { sessionTotal, cost, tokens }: TurnReport,
  before: ThreadSession | undefined,
): Omit<ThreadSession, 'session'> => {
  const totalMicroUsd = sessionTotal?.microUsd ?? sum(before?.totalMicroUsd, cost.microUsd)
  const totalTokens = sessionTotal?.tokens ?? sum(before?.totalTokens, tokens)
  return {
    ...(totalMicroUsd === undefined ? {} : { totalMicroUsd }),
    ...(totalTokens === undefined ? {} : { totalTokens }),
  }
}

const sum = (before: number | undefined, more: number): number | undefined =>
  before === undefined ? undefined : before + more

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
