import Router from '@koa/router'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import Koa, { type Context, type Middleware } from 'koa'
import { type Envelope, failureEnvelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { wantsEvents } from './accept.ts'
import { answer } from './answer.ts'
import { readBody } from './body.ts'
import type { Bus } from './bus.ts'
import { cancel } from './cancel.ts'
import { eventStream } from './event-stream.ts'
import { loopbackHost, noBrowser, type RequestHead } from './guards.ts'
import { healthOf } from './health.ts'
import { talk } from './talk.ts'

/** The routes of an instance. Whatever is asked, the answer is an envelope (or the health). */
export const createApp = (bus: Bus): Koa => {
  const app = new Koa()
  const router = new Router({ strict: true, sensitive: true })
  router.post('/api/talk', guarded(bus), answerTalk(bus))
  router.post('/api/turns/:turn/cancel', guarded(bus), answerCancel(bus))
  router.get('/api/health', guarded(bus), answerHealth(bus))

  // A response that breaks because its caller is gone is no news.
  app.silent = true
  app.use(catchAll(bus))
  app.use(router.routes())
  app.use(wrongRoute(bus, router))
  return app
}

const refusal = ({ instance }: Bus, why: Failure): Envelope =>
  failureEnvelope(why, { fromInstance: instance.name, durationMs: 0 })

const refuse = (bus: Bus, ctx: Context, why: Failure): void => answer(ctx, refusal(bus, why))

const headOf = (ctx: Context): RequestHead => ({ headers: ctx.req.headersDistinct, port: ctx.socket.localPort ?? 0 })

/** Host → Origin / Sec-Fetch-Site, on every route. */
const guarded =
  (bus: Bus): Middleware =>
  async (ctx, next) => {
    const passed = pipe(loopbackHost(headOf(ctx)), E.chain(noBrowser))
    if (E.isLeft(passed)) return refuse(bus, ctx, passed.left)
    await next()
  }

const answerTalk =
  (bus: Bus): Middleware =>
  async ctx => {
    const hangUp = new AbortController()
    // The request closes as soon as its body was read; only the response tells that the caller is gone.
    ctx.res.once('close', () => {
      if (!ctx.res.writableFinished) hangUp.abort()
    })
    const head = headOf(ctx)
    const stream = wantsEvents(head) ? eventStream(ctx) : undefined
    const envelope = await talk(bus)({
      authorization: head.headers['authorization'] ?? [],
      body: readBody(ctx.req, ctx.res, head, bus.host.bodyLimitBytes),
      hungUp: hangUp.signal,
      keys: head.headers['idempotency-key'] ?? [],
      tell: stream?.tell,
    })().catch(tellBug(bus))
    if (stream?.begun()) stream.end(envelope)
    else answer(ctx, envelope)
  }

const answerCancel =
  (bus: Bus): Middleware =>
  async ctx => {
    const unlessWaitedFor = ctx.query['unless'] === 'waited-for'
    const authorization = headOf(ctx).headers['authorization'] ?? []
    const envelope = await cancel(bus)(authorization, String(ctx['params'].turn), unlessWaitedFor)()
    answer(ctx, envelope)
    // What is asked for is well-formed, so it is not there.
    if (!envelope.success && envelope.errorCode === 'invalid_request') ctx.status = 404
  }

const answerHealth =
  (bus: Bus): Middleware =>
  async ctx => {
    ctx.body = await healthOf(bus)
  }

const wrongRoute =
  (bus: Bus, router: Router): Middleware =>
  ctx => {
    const methods = router.match(ctx.path, ctx.method).path.flatMap(layer => layer.methods)
    const routes = 'the routes are POST /api/talk, POST /api/turns/TURN/cancel and GET /api/health.'
    if (methods.length === 0) {
      refuse(bus, ctx, failure('invalid_request', `There is no such route; ${routes}`))
      ctx.status = 404
      return
    }
    refuse(bus, ctx, failure('invalid_request', `This route does not take ${ctx.method}; ${routes}`))
    ctx.status = 405
    ctx.set('Allow', methods.join(', '))
  }

/** Bugs end here: told to the log, and to the caller as `internal_error`. */
const catchAll =
  (bus: Bus): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      answer(ctx, tellBug(bus)(error))
    }
  }

const tellBug =
  (bus: Bus) =>
  (error: unknown): Envelope => {
    bus.host.log('bug', { error: error instanceof Error ? error.stack : String(error) }, 'error')
    return refusal(bus, failure('internal_error', 'Something went wrong inside the bus; its log says what.'))
  }
