import type * as T from 'fp-ts/lib/Task.js'
import { stopwatch } from '../process/stopwatch.ts'
import { decodeProgress, type ProgressEvent } from '../protocol/progress.ts'
import { capabilities, protocolVersion } from '../protocol/version.ts'
import { ask } from './ask.ts'
import type { WireEvent } from './event-reader.ts'
import { type Reply, replyOf } from './reply.ts'
import { type Credentials, portOf, type Target } from './target.ts'

export interface Talk {
  readonly fromInstance: string
  readonly prompt: string
  /** The caller's own depth: 0 for a person; the wire carries one more (protocol, "Request Shape"). */
  readonly depth: number
  /** The conversation that it goes on with. */
  readonly thread?: string
  /** The piece of work that it belongs to. */
  readonly root?: string
}

export interface DelegateOptions {
  /** From the call to the last byte of the answer; without it, as long as the target takes. */
  readonly timeoutMs?: number
  /** The limit that the caller gave, where a part of it was used up before this call: a timeout names it. */
  readonly wholeTimeoutMs?: number
  /** Aborted: hangs up, by which the target cancels the turn. */
  readonly signal?: AbortSignal
  /** The longest answer that is read; 64 MiB unless told. */
  readonly responseLimitBytes?: number
  /**
   * Set: the talk is followed, and each event is told in its order. A peer that knows no events tells none. What it throws is
   * an uncaught exception, and the talk goes on.
   */
  readonly onProgress?: (event: ProgressEvent) => void
  /** The same talk under the same key runs once: it may be sent again also where its answer was lost. */
  readonly idempotencyKey?: string
  readonly now: () => number
}

const defaultResponseLimitBytes = 64 * 1024 * 1024

/** The act of sending one talk. Never rejects: whatever goes wrong is an envelope with a code. */
export const delegate =
  (target: Target, talk: Talk, credentials: Credentials, options: DelegateOptions): T.Task<Reply> =>
  async () => {
    const { now, onProgress, idempotencyKey: key } = options
    const elapsedMs = stopwatch()
    let turn: string | undefined
    const listener = key === undefined ? onProgress : noting(accepted => (turn = accepted), onProgress)
    const received = await ask(
      {
        port: portOf(target),
        path: '/api/talk',
        body: JSON.stringify(bodyOf(talk)),
        responseLimitBytes: options.responseLimitBytes ?? defaultResponseLimitBytes,
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
        ...(credentials.bearer === undefined ? {} : { bearer: credentials.bearer }),
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
        ...(options.wholeTimeoutMs === undefined ? {} : { wholeTimeoutMs: options.wholeTimeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(listener === undefined ? {} : { onEvent: tolerant(listener) }),
      },
      target.name,
    )()
    const asked = { fromInstance: target.name, durationMs: elapsedMs(), keyed: key !== undefined }
    const reply = replyOf(received, asked, now())
    return turn === undefined ? reply : { ...reply, turn }
  }

const bodyOf = ({ fromInstance, prompt, depth, thread, root }: Talk): object => ({
  fromInstance,
  prompt,
  depth: depth + 1,
  protocolVersion,
  // A strict old peer refuses any other; who follows a talk says so in `Accept`.
  capabilities,
  ...(thread === undefined && root === undefined ? {} : { ext: { thread, root } }),
})

type Listener = (event: ProgressEvent) => void

const noting =
  (accepted: (turn: string) => void, onProgress: Listener | undefined): Listener =>
  event => {
    if (event.kind === 'accepted') accepted(event.turn)
    onProgress?.(event)
  }

/** What is not understood is passed over: a newer peer tells more. */
const tolerant = (onProgress: Listener): ((event: WireEvent) => void) => {
  let last = 0
  return ({ name, id, data }) => {
    const progress = decodeProgress(name, parsed(data))
    last = id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : last + 1
    if (progress === undefined) return
    try {
      onProgress({ ...progress, id: last })
    } catch (error) {
      // It is the listener's own, and none of the talk's.
      queueMicrotask(() => {
        throw error
      })
    }
  }
}

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
