import { type Failure, failure } from '../protocol/failure.ts'
import { sayDuration } from './sentence.ts'

/** The failure that something was ended with: the reason of the abort, if that is one. */
export const endedBy = (ended: AbortSignal): Failure => {
  const why: unknown = ended.reason
  return isFailure(why) ? why : failure('cancelled', 'The turn was cancelled.')
}

const isFailure = (why: unknown): why is Failure =>
  typeof why === 'object' && why !== null && 'code' in why && 'sentence' in why

export const tooSlow = (timeoutMs: number): Failure<'timeout'> =>
  failure('timeout', `No answer within ${sayDuration(timeoutMs)}, the "timeout" of the instance; the turn was ended.`)

export const tooQuiet = (idleTimeoutMs: number): Failure<'timeout'> =>
  failure(
    'timeout',
    `The CLI was idle: nothing was heard for ${sayDuration(idleTimeoutMs)}, its "idleTimeout"; the turn was ended.`,
  )
