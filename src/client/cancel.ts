import type * as T from 'fp-ts/lib/Task.js'
import { stopwatch } from '../process/stopwatch.ts'
import { ask } from './ask.ts'
import { type Reply, replyOf } from './reply.ts'
import { type Credentials, portOf, type Target } from './target.ts'

const timeoutMs = 30_000
const responseLimitBytes = 1024 * 1024

/**
 * Has a turn ended by the instance that runs it, and waits until it is over. `unlessWaitedFor`: not where another caller waits
 * for it too. Never rejects.
 */
export const askToCancel =
  (
    target: Target,
    turn: string,
    { bearer }: Credentials,
    { now, unlessWaitedFor = false }: { readonly now: () => number; readonly unlessWaitedFor?: boolean },
  ): T.Task<Reply> =>
  async () => {
    const elapsedMs = stopwatch()
    const received = await ask(
      {
        port: portOf(target),
        path: `/api/turns/${encodeURIComponent(turn)}/cancel${unlessWaitedFor ? '?unless=waited-for' : ''}`,
        body: '{}',
        timeoutMs,
        responseLimitBytes,
        ...(bearer === undefined ? {} : { bearer }),
      },
      target.name,
    )()
    return replyOf(received, { fromInstance: target.name, durationMs: elapsedMs() }, now())
  }
