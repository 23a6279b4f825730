import http from 'node:http'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import { sayDuration } from '../engine/sentence.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { eventsBody, plainBody } from './answer-body.ts'
import type { WireEvent } from './event-reader.ts'

/** One request to loopback: with a body a POST of JSON, without one a GET. */
export interface Question {
  readonly port: number
  readonly path: string
  readonly body?: string
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** What the sentence names as the limit; `timeoutMs` unless told. */
  readonly wholeTimeoutMs?: number
  readonly signal?: AbortSignal
  /** Of a whole answer, or of one event. */
  readonly responseLimitBytes: number
  /** Set: events are asked for, and each but the last one is told; that one's data is the body. */
  readonly onEvent?: (event: WireEvent) => void
}

export interface Received {
  readonly status: number
  readonly body: string
  readonly retryAfter?: string
}

/** `sent`: the request may have reached somebody who acts on it. */
export interface TransportFailure {
  readonly why: Failure
  readonly sent: boolean
}

// Its own agent: the global one takes a proxy from the environment where NODE_USE_ENV_PROXY says so, and keeps sockets
// of a bus that is gone.
const agent = new http.Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })

/** Sends and reads to the end: the literal 127.0.0.1, no proxy, no redirect, no timeout but the caller's own. */
export const ask =
  (request: Question, name: string): TE.TaskEither<TransportFailure, Received> =>
  () =>
    new Promise(resolve => {
      const { signal, timeoutMs, onEvent, responseLimitBytes: limitBytes } = request
      const state = { sent: false, status: undefined as number | undefined }
      const body = request.body === undefined ? undefined : Buffer.from(request.body)
      const outgoing = http.request({
        agent,
        host: '127.0.0.1',
        port: request.port,
        path: request.path,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
          accept: onEvent === undefined ? 'application/json' : 'text/event-stream, application/json',
          ...request.headers,
          ...(request.bearer === undefined ? {} : { authorization: `Bearer ${request.bearer}` }),
        },
      })

      const end = (result: E.Either<TransportFailure, Received>) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', hangUp)
        outgoing.destroy()
        resolve(result)
      }
      const fail = (why: Failure) => end(E.left({ why, sent: state.sent }))
      const hangUp = () => fail(failure('cancelled', `The talk to ${name} was cancelled by its caller.`))
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(
              () => fail(tooLate(name, request.wholeTimeoutMs ?? timeoutMs)),
              Math.min(timeoutMs, longestTimerMs),
            )

      // A socket that is connected may have passed bytes on, whatever becomes of it then.
      outgoing.on('socket', socket => {
        socket.once('connect', () => {
          state.sent = true
        })
      })
      outgoing.on('error', error => fail(transportFailure(name, request.port, error, state)))
      // Nobody asked for another protocol; unheard, it would be waited for without end.
      outgoing.on('upgrade', (_response, socket) => {
        socket.destroy()
        fail(failure('invalid_response', `What answers on the port of ${name} changes to another protocol than HTTP.`))
      })
      outgoing.on('response', response => {
        state.status = response.statusCode ?? 0
        const follows = onEvent !== undefined && isEventStream(response.headers['content-type'])
        const answer = follows ? eventsBody(limitBytes, onEvent) : plainBody(limitBytes)
        const whole = () => {
          const text = answer.text()
          const retryAfter = response.headers['retry-after']
          const status = response.statusCode ?? 0
          if (text === undefined) return fail(cut(name))
          end(E.right({ status, body: text, ...(retryAfter === undefined ? {} : { retryAfter }) }))
        }
        response.on('data', (chunk: Buffer) => {
          const read = answer.push(chunk)
          if (read === 'tooLong') fail(tooLong(name, limitBytes))
          else if (read === 'whole') whole()
        })
        response.on('error', error => fail(transportFailure(name, request.port, error, state)))
        response.on('end', whole)
      })
      if (signal?.aborted) return hangUp()
      signal?.addEventListener('abort', hangUp, { once: true })
      outgoing.end(body)
    })

const isEventStream = (type: string | undefined): boolean => /^text\/event-stream\s*(?:;|$)/i.test(type ?? '')

// What a longer timer means to Node is 1 ms.
const longestTimerMs = 2 ** 31 - 1

const tooLate = (name: string, timeoutMs: number): Failure =>
  failure('timeout', `${name} did not answer within ${sayDuration(timeoutMs)}, its caller's limit; the talk was ended.`)

const cut = (name: string): Failure =>
  failure('invalid_response', `The events of ${name} ended before its answer, so what became of the talk is not known.`)

const tooLong = (name: string, limitBytes: number): Failure =>
  failure(
    'invalid_response',
    `The answer of ${name} is longer than ${limitBytes} bytes, so it was not read to its end.`,
  )

const transportFailure = (
  name: string,
  port: number,
  error: Error,
  state: { readonly sent: boolean; readonly status: number | undefined },
): Failure => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message
  if (state.status !== undefined) {
    return failure('invalid_response', `The answer of ${name} broke off (HTTP ${state.status}, ${code}).`)
  }
  if (!state.sent) {
    return failure('instance_unavailable', `Nobody answers for ${name} on 127.0.0.1:${port} (${code}).`)
  }
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNREFUSED'
    ? failure('instance_unavailable', `${name} closed the connection before it answered (${code}).`)
    : failure('invalid_response', `What answers on the port of ${name} does not speak HTTP (${code}).`)
}
