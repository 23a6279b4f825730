import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Context } from 'koa'
import { type Envelope, failureEnvelope } from '../protocol/envelope.ts'
import { factsOf } from '../protocol/error-codes.ts'
import type { Failure } from '../protocol/failure.ts'

const lingerMs = 1000

/** Writes an envelope; the status is a hint, taken from the table. */
export const answer = (ctx: Context, envelope: Envelope): void => {
  ctx.status = statusOf(envelope)
  ctx.set('Content-Type', 'application/json; charset=utf-8')
  ctx.body = JSON.stringify(envelope)
  if (stillSends(ctx.req)) keepLine(ctx)
  if (envelope.success) return
  if (envelope.errorCode === 'auth_failed') ctx.set('WWW-Authenticate', 'Bearer')
  const { retryAfterMs } = envelope.ext ?? {}
  if (retryAfterMs !== undefined) ctx.set('Retry-After', String(Math.ceil(retryAfterMs / 1000)))
}

// A request without a body is not complete either while its head is being answered.
const stillSends = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** Closing under a sender that still sends can take the answer away: the line stays until the rest was thrown away. */
const keepLine = ({ req, res }: Context): void => {
  if (res.shouldKeepAlive) return
  res.shouldKeepAlive = true
  const { socket } = req
  req.once('close', () => socket.end())
}

/** The same, for requests that never reach the application: written onto the socket, which is closed after it. */
export const answerRaw = (socket: Duplex, instance: string, refusal: Failure): void => {
  const envelope = failureEnvelope(refusal, { fromInstance: instance, durationMs: 0 })
  const body = JSON.stringify(envelope)
  const head = [
    `HTTP/1.1 ${statusOf(envelope)} Refused`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  // Node no longer listens for the errors of a socket that it hands over, and a caller may reset it at any time.
  socket.on('error', () => undefined)
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Closing at once could take the answer away from a sender that still sends.
  socket.resume()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

const statusOf = (envelope: Envelope): number => (envelope.success ? 200 : factsOf(envelope.errorCode).httpStatus)
