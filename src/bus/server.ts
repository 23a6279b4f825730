import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as endOfPoll, setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { PriceOf } from '../engine/settings.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { answerRaw } from './answer.ts'
import { createApp } from './app.ts'
import type { Bus } from './bus.ts'
import type { Host } from './host.ts'
import { authenticate } from './identity.ts'
import type { Instance } from './instance.ts'
import { createQueue } from './queue.ts'
import { stopTalks, untilIdle } from './stop.ts'

/** An instance that listens on loopback. */
export interface Served {
  readonly instance: Instance
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly port: number
  readonly activity: () => { readonly running: number; readonly queued: number }
  /** Resolves when nothing runs or waits here. */
  readonly idle: () => Promise<void>
  /**
   * Refuses new talks, lets turns end within the grace, ends the rest, and closes the socket when all were answered; not
   * before `latecomersMs`, for those who are on their way: a socket that is closed under them cannot say that nothing ran.
   */
  readonly stop: (graceMs: number, latecomersMs?: number) => Promise<void>
  /**
   * Gives the port free after `latecomersMs`, until when it serves as ever, for another host that takes its place. Resolves
   * when all that had come was answered; `stop` shortens that.
   */
  readonly handOver: (latecomersMs: number) => Promise<void>
  /** So many of its slots are taken by turns of the host whose place it took. */
  readonly occupy: (slots: number) => void
}

// A request must have arrived whole by then, so that who is slow is cut within 10 s even if we look late; how long its turn
// runs is another matter.
const arrivalLimitMs = 8000
const backlog = 1024

export const serve =
  (host: Host, instance: Instance, priceOf: PriceOf): TE.TaskEither<Failure, Served> =>
  async () => {
    const queue = createQueue(instance.concurrency)
    const bus: Bus = {
      host,
      authenticate: authenticate(host),
      instance,
      priceOf,
      queue,
      shared: new Map(),
      stopping: false,
    }
    const server = createHttpServer(bus)
    const listening = await listen(server, instance)
    if (E.isLeft(listening)) return listening
    const { port } = listening.right
    return E.right({
      instance,
      port,
      url: `http://127.0.0.1:${port}`,
      activity: () => ({ running: bus.queue.running(), queued: bus.queue.waiting() }),
      idle: () => untilIdle(bus),
      stop: async (graceMs, latecomersMs = 0) => {
        await Promise.all([stopTalks(bus, graceMs), pause(latecomersMs)])
        await acceptedAll(server, host.now)
        await close(server)
      },
      handOver: async latecomersMs => {
        await pause(latecomersMs)
        await acceptedAll(server, host.now)
        server.close()
        // Whoever was accepted last has not yet said what it wants.
        await pause(latecomersMs)
        bus.stopping = true
        await untilIdle(bus)
        await close(server)
      },
      occupy: queue.occupy,
    })
  }

const createHttpServer = (bus: Bus): Server => {
  const handle = createApp(bus).callback()
  const server = createServer({
    requireHostHeader: false,
    headersTimeout: arrivalLimitMs,
    requestTimeout: arrivalLimitMs,
    connectionsCheckingInterval: 500,
  })
  const refuseRaw = (socket: Duplex, sentence: string): void =>
    answerRaw(socket, bus.instance.name, failure('invalid_request', sentence))
  // By socket, the last one last: those that are not answered yet, and the newest in any case.
  const responses = new WeakMap<Duplex, readonly ServerResponse[]>()
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const open = responses.get(request.socket)?.filter(one => !one.writableFinished) ?? []
      responses.set(request.socket, [...open, response])
      void handle(request, response)
    })
  }
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => refuseRaw(socket, 'CONNECT is not served here.'))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    answerBroken(bus, error, socket, responses.get(socket)),
  )
  return server
}

/** What Node could not even parse, or waited for too long. */
const answerBroken = (
  bus: Bus,
  error: NodeJS.ErrnoException,
  socket: Duplex,
  responses: readonly ServerResponse[] = [],
): void => {
  if (error.code === 'ECONNRESET') socket.destroy()
  if (!socket.writable) return
  const newest = responses.at(-1)
  const owed = responses.findLast(one => !one.writableFinished && (one.headersSent || one.req.complete))
  // Answers that are under way on this socket go first, and nothing can be read behind them.
  if (owed) owed.once('close', () => socket.destroy())
  // What was refused while it still came has had its answer.
  else if (newest?.writableFinished && !newest.req.complete) socket.destroy()
  else answerRaw(socket, bus.instance.name, whyBroken(error))
}

const whyBroken = ({ code }: NodeJS.ErrnoException): Failure => {
  if (code === 'HPE_HEADER_OVERFLOW') return failure('request_too_large', 'The headers are larger than 16 KiB.')
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return failure('invalid_request', 'This is not a well-formed HTTP request.')
  return failure('invalid_request', `The request did not arrive within ${arrivalLimitMs / 1000} s.`)
}

const listen = (server: Server, { name, port }: Instance): Promise<E.Either<Failure, AddressInfo>> =>
  new Promise(resolve => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      const why = taken
        ? 'is taken by another program; choose another "port", or 0 for any'
        : `cannot be used: ${error.message}`
      resolve(E.left(failure('instance_unavailable', `Port ${port} of instance ${name} ${why}.`)))
    })
    server.listen({ host: '127.0.0.1', port, backlog }, () => {
      const address = server.address()
      if (typeof address === 'object' && address !== null) resolve(E.right(address))
    })
  })

/**
 * Resolves when nobody waits to be accepted: whoever does when the port closes is reset, and cannot tell whether it was heard.
 * Nothing came in a round of the event loop that took no time, and the code that awaits this runs at the end of that round.
 */
const acceptedAll = async (server: Server, now: () => number): Promise<void> => {
  let quiet = false
  const note = (): void => {
    quiet = false
  }
  server.on('connection', note)
  for (let rounds = 0; !quiet && rounds < mostRounds; rounds += 1) {
    quiet = true
    const beganAtMs = now()
    await endOfPoll()
    if (now() !== beganAtMs) quiet = false
  }
  server.off('connection', note)
}

const mostRounds = 1000

const close = (server: Server): Promise<void> =>
  new Promise(resolve => {
    server.close(() => resolve())
    server.closeIdleConnections()
    // Who has been answered and still holds the line open has no claim on us.
    setTimeout(() => server.closeAllConnections(), 1000).unref()
  })
