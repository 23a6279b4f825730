import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf, sayMismatch } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Ask } from './talk.ts'

/** What of a script's talk no envelope could carry, and so nobody else judges; scripts need not be typed. */
export const checkTalkOptions = (name: unknown, options: unknown): E.Either<Failure, void> =>
  pipe(
    decode(talk, { name, options }),
    E.bimap(
      wrong => failure('invalid_request', `The talk cannot be sent: ${wrong.map(sayMismatch).join('; ')}.`),
      () => undefined,
    ),
  )

// Node's timers know no more than 2^31 - 1 ms.
const longestMs = 2 ** 31 - 1

const talk = t.type({
  name: leaf('the name of an instance', (value): value is string => typeof value === 'string'),
  options: t.partial({
    timeoutMs: leaf(
      'a number of milliseconds, above 0 and at most 24 days',
      (value): value is number => typeof value === 'number' && value > 0 && value <= longestMs,
    ),
    retry: leaf(
      'a whole number, 0 or more',
      (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
    ),
    onProgress: leaf('a function', (value): value is NonNullable<Ask['onProgress']> => typeof value === 'function'),
    idempotencyKey: leaf(
      '1 to 200 visible ASCII characters',
      (value): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value),
    ),
    signal: leaf('an AbortSignal', (value): value is AbortSignal => value instanceof AbortSignal),
  }),
})
