import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as t from 'io-ts/lib/index.js'
import { decode } from '../protocol/decode.ts'
import { ask } from './ask.ts'

const health = t.type({
  status: t.string,
  kind: t.string,
  instance: t.string,
  running: t.number,
  queued: t.number,
})

/** What is read of `GET /api/health`. */
export type Health = t.TypeOf<typeof health>

const responseLimitBytes = 64 * 1024

/** Asks an instance how it is; `undefined` when nobody answers in time, or another program than that instance does. */
export const askHealth =
  (target: { readonly name: string; readonly url: string }, timeoutMs: number): T.Task<Health | undefined> =>
  async () => {
    const port = Number(new URL(target.url).port)
    const answered = await ask({ port, path: '/api/health', timeoutMs, responseLimitBytes }, target.name)()
    return pipe(
      answered,
      E.chainW(({ body }) =>
        E.tryCatch(
          (): unknown => JSON.parse(body),
          () => undefined,
        ),
      ),
      E.chainW(json => decode(health, json)),
      E.match(
        () => undefined,
        told => (told.kind === 'errand' && told.instance === target.name ? told : undefined),
      ),
    )
  }
