import { type Failure, failure } from '../protocol/failure.ts'
import { sayDuration } from './sentence.ts'
import type { Seen } from './tally.ts'

/** In the words of whoever cancelled. */
export const cancelledBy = (cancel: AbortSignal): Failure<'cancelled'> => {
  const reason: unknown = cancel.reason
  return failure('cancelled', typeof reason === 'string' && reason !== '' ? reason : 'The turn was cancelled.')
}

/** A CLI that tries again and again says so, and that is worth more than the time that it took. */
export const tooSlow = (timeoutMs: number, { retry }: Pick<Seen, 'retry'>): Failure<'timeout'> => {
  const why = [retry?.status, retry?.reason].filter(part => part !== undefined && part !== '').join(' ')
  const trying = retry === undefined ? '' : ` It was trying again${why && ` after: ${why}`}.`
  return failure('timeout', `No answer within ${sayDuration(timeoutMs)}; the turn was ended.${trying}`)
}
