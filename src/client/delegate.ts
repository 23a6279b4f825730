import type * as T from 'fp-ts/lib/Task.js'
import { addedCapabilities, capabilities, protocolVersion } from '../protocol/envelope.ts'
import { decodeProgress, type ProgressEvent } from '../protocol/progress.ts'
import { ask } from './ask.ts'
import type { WireEvent } from './event-reader.ts'
import { type Reply, replyOf } from './reply.ts'

/** Whom to talk to. Of `url` the port alone is used: a talk never leaves 127.0.0.1. */
export interface Target {
  readonly name: string
  readonly url: string
}

export interface Talk {
  readonly fromInstance: string
  readonly prompt: string
  /** The caller's own depth: 0 for a person; the wire carries one more (protocol, "Request Shape"). */
  readonly depth: number
}

/** The bus secret or a turn token; `undefined` sends no Authorization at all. */
export interface Credentials {
  readonly bearer: string | undefined
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
  readonly now: () => number
}

const defaultResponseLimitBytes = 64 * 1024 * 1024

/** The act of sending one talk. Never rejects: whatever goes wrong is an envelope with a code. */
export const delegate =
  (target: Target, talk: Talk, credentials: Credentials, options: DelegateOptions): T.Task<Reply> =>
  async () => {
    const { now, onProgress } = options
    const startedAtMs = now()
    const received = await ask(
      {
        port: portOf(target),
        path: '/api/talk',
        body: JSON.stringify({
          fromInstance: talk.fromInstance,
          prompt: talk.prompt,
          depth: talk.depth + 1,
          protocolVersion,
          capabilities: onProgress === undefined ? capabilities : [...capabilities, ...addedCapabilities],
        }),
        responseLimitBytes: options.responseLimitBytes ?? defaultResponseLimitBytes,
        ...(credentials.bearer === undefined ? {} : { bearer: credentials.bearer }),
        ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
        ...(options.wholeTimeoutMs === undefined ? {} : { wholeTimeoutMs: options.wholeTimeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(onProgress === undefined ? {} : { onEvent: tolerant(onProgress) }),
      },
      target.name,
    )()
    return replyOf(received, { fromInstance: target.name, durationMs: now() - startedAtMs }, now())
  }

export const portOf = ({ url }: Target): number => Number(new URL(url).port)

/** What is not understood is passed over: a newer peer tells more. */
const tolerant = (onProgress: (event: ProgressEvent) => void): ((event: WireEvent) => void) => {
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
