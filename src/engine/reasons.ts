import { type Failure, failure } from '../protocol/failure.ts'
import { sayDuration } from './sentence.ts'
import type { Seen } from './tally.ts'

/** The failure that something was ended with: the reason of the abort, if that is one. */
export const endedBy = (ended: AbortSignal): Failure => {
  const why: unknown = ended.reason
  return isFailure(why) ? why : failure('cancelled', 'The turn was cancelled.')
}

const isFailure = (why: unknown): why is Failure =>
  typeof why === 'object' && why !== null && 'code' in why && 'sentence' in why

/** A CLI that tries again and again says so, and that is worth more than the time that it took. */
export const tooSlow = (timeoutMs: number, { retry }: Pick<Seen, 'retry'>): Failure<'timeout'> => {
  const why = [retry?.status, retry?.reason].filter(part => part !== undefined && part !== '').join(' ')
  const trying = retry === undefined ? '' : ` It was trying again${why && ` after: ${why}`}.`
  return failure('timeout', `No answer within ${sayDuration(timeoutMs)}; the turn was ended.${trying}`)
}
