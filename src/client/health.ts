import http from 'node:http'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as t from 'io-ts/lib/index.js'
import { decode } from '../protocol/decode.ts'

const health = t.type({
  status: t.string,
  kind: t.string,
  instance: t.string,
  engine: t.string,
  pid: t.number,
  running: t.number,
  queued: t.number,
  oldestTurnMs: t.union([t.number, t.null, t.undefined]),
})

/** What `GET /api/health` tells. */
export type Health = t.TypeOf<typeof health>

const limitBytes = 64 * 1024

/** Asks an instance how it is; `undefined` when nobody answers in time, or another program than that instance does. */
export const askHealth =
  (target: { readonly name: string; readonly url: string }, timeoutMs: number): T.Task<Health | undefined> =>
  async () => {
    const body = await get(Number(new URL(target.url).port), timeoutMs)
    return pipe(
      E.tryCatch(
        (): unknown => JSON.parse(body ?? ''),
        () => undefined,
      ),
      E.chainW(json => decode(health, json)),
      E.match(
        () => undefined,
        told => (told.kind === 'errand' && told.instance === target.name ? told : undefined),
      ),
    )
  }

const agent = new http.Agent({ keepAlive: false })

const get = (port: number, timeoutMs: number): Promise<string | undefined> =>
  new Promise(resolve => {
    const request = http.get({ agent, host: '127.0.0.1', port, path: '/api/health' })
    const end = (body: string | undefined) => {
      clearTimeout(timer)
      request.destroy()
      resolve(body)
    }
    const timer = setTimeout(() => end(undefined), timeoutMs)
    request.on('error', () => end(undefined))
    request.on('response', response => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > limitBytes) end(undefined)
        else chunks.push(chunk)
      })
      response.on('error', () => end(undefined))
      response.on('end', () => end(Buffer.concat(chunks).toString('utf8')))
    })
  })
