import type { IncomingMessage, ServerResponse } from 'node:http'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { jsonOnly, lengthWithin, notEncoded, type RequestHead, tooLarge } from './guards.ts'

/** The body as JSON: content-type → encoding → length, and only then a byte of it, counted while it comes. */
export const readBody = (
  request: IncomingMessage,
  response: ServerResponse,
  head: RequestHead,
  limitBytes: number,
): TE.TaskEither<Failure, Json> =>
  pipe(
    jsonOnly(head),
    E.chain(notEncoded),
    E.chain(lengthWithin(limitBytes)),
    TE.fromEither,
    TE.chain(() => bytesOf(request, response, limitBytes)),
    TE.chainEitherK(parse),
  )

const bytesOf =
  (request: IncomingMessage, response: ServerResponse, limitBytes: number): TE.TaskEither<Failure, Buffer> =>
  () =>
    new Promise(resolve => {
      const chunks: Buffer[] = []
      let bytes = 0
      const finish = (result: E.Either<Failure, Buffer>): void => {
        request.off('data', onData)
        resolve(result)
      }
      const onData = (chunk: Buffer): void => {
        bytes += chunk.length
        if (bytes <= limitBytes) return void chunks.push(chunk)
        // The rest goes on to come, and is thrown away unread, so that the sender can hear the answer.
        finish(E.left(tooLarge(limitBytes)))
      }
      request.on('data', onData)
      request.once('end', () => finish(E.right(Buffer.concat(chunks))))
      request.once('close', () =>
        finish(E.left(failure('cancelled', 'The caller hung up before its body was complete.'))),
      )
      request.on('error', () => undefined)
      const waits = /^100-continue$/i.test(request.headers.expect ?? '') && request.httpVersion !== '1.0'
      if (waits) response.writeContinue()
    })

const parse = (bytes: Buffer): E.Either<Failure, Json> => {
  try {
    return E.right(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch (error) {
    const what = error instanceof TypeError ? 'not UTF-8' : 'not JSON'
    return E.left(failure('invalid_request', `The body is ${what}. Send {"fromInstance", "prompt", "depth"} as JSON.`))
  }
}
