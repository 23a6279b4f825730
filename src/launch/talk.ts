import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { askToCancel } from '../client/cancel.ts'
import { delegate, type Talk } from '../client/delegate.ts'
import { type Reply, refusedReply } from '../client/reply.ts'
import { retry } from '../client/retry.ts'
import type { Target } from '../client/target.ts'
import type { Mistakes } from '../config/config.ts'
import { reachOf } from '../config/reach.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { ProgressEvent } from '../protocol/progress.ts'
import { refuseEarly } from './early.ts'
import { endOf, launchLazily } from './launch-lazily.ts'
import { resolve } from './resolve.ts'
import { type Speaker, speakerOf } from './speaker.ts'
import type { State } from './state.ts'

/** A talk by name, as a person, a script or a program inside a turn asks for it. */
export interface Ask {
  readonly name: string
  readonly prompt: string
  /** Who speaks; `operator` unless told. Inside a turn its own instance, and any other name is refused. */
  readonly from?: string
  /** The caller's own depth; 0 unless told. Inside a turn it is the turn's. */
  readonly depth?: number
  /** From the call on, launching included. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** The conversation that it goes on with: of this speaker with this instance. */
  readonly thread?: string
  /** The piece of work that it belongs to, opened before; inside a turn it is the turn's, whatever is said here. */
  readonly root?: string
  /** Repeats at most so often; 0 unless told. */
  readonly retry?: number
  /** The same talk under the same key runs once; one that may be repeated gets a key by itself. */
  readonly idempotencyKey?: string
  /** What happens meanwhile, for a progress line. */
  readonly onEvent?: (event: TalkEvent) => void
  /** Set: the talk is followed; each attempt begins anew at `accepted`. */
  readonly onProgress?: (event: ProgressEvent) => void
  readonly verbose?: boolean
}

/** Makes what a talk needs run, as far as it does not run yet. */
export type Launcher = TE.TaskEither<Failure, void>

export type TalkEvent =
  | { readonly kind: 'warning'; readonly sentence: string }
  | { readonly kind: 'launched'; readonly instances: readonly string[] }
  | { readonly kind: 'sent'; readonly url: string }
  | { readonly kind: 'again'; readonly why: string }

/** Looks into the registry anew at most so often: each time somebody else must have gone away just then. */
const mostMoves = 5
/** How long a caller that cannot launch waits for a name to appear: another host may be about to take it over. */
const absentMs = 1500

/**
 * The whole of `errand talk`: early refusals, launching what does not run, delegating, and trying again where that cannot
 * run the work twice. What it launched ends with `state.close()`, when nothing runs or waits there any more; at once if the
 * talk was given up. Never rejects.
 */
export const talk = (state: State, ask: Ask): T.Task<Reply> =>
  talkWith(launcherFor(state, reachOf(state.config, ask.name), ask))(state, ask)

/** The same with another way to launch, or none. */
export const talkWith =
  (launcher: Launcher | undefined) =>
  (state: State, ask: Ask): T.Task<Reply> =>
  async () => {
    const speaker = await speakerOf(state, ask)()
    if (E.isLeft(speaker)) return refusedReply(speaker.left, ask.name)
    const early = refuseEarly(state.config, ask.name, talkOf(ask, speaker.right))
    if (E.isLeft(early)) return refusedReply(early.left, ask.name)
    const limits = limitsOf(ask)
    const key = ask.idempotencyKey ?? ((ask.retry ?? 0) > 0 ? randomUUID() : undefined)
    const keyed = key === undefined ? ask : { ...ask, idempotencyKey: key }
    // Inside a turn nothing is ever launched.
    const mayLaunch = state.inside === undefined ? launcher : undefined
    let begun: Begun | undefined
    const attempt = () => deliver(state, keyed, speaker.right, limits, mayLaunch, one => (begun = one))
    const reply = await retry(attempt, ask.retry ?? 0, {
      signal: limits.signal,
      random: Math.random,
      pause: async (ms, { envelope }) => {
        const why = envelope.success ? '' : ` after: ${envelope.error}`
        ask.onEvent?.({ kind: 'again', why: `in ${(ms / 1000).toFixed(1)} s${why}` })
        await sleep(ms, undefined, { signal: limits.signal }).catch(() => undefined)
      },
    })()
    // To a bus, one that hangs up with a key may come back. This one will not.
    if (begun !== undefined && gaveUp(reply, limits))
      await askToCancel(begun.target, begun.turn, speaker.right, { now: state.where.now, unlessWaitedFor: true })()
    return reply
  }

/** The turn that a talk with a key became. */
interface Begun {
  readonly target: Target
  readonly turn: string
}

// An answer of the bus names its turn, which is over then.
const gaveUp = ({ envelope }: Reply, { signal }: TalkLimits): boolean =>
  !envelope.success &&
  envelope.ext?.turn === undefined &&
  (signal.aborted || envelope.errorCode === 'timeout' || envelope.errorCode === 'cancelled')

/** Finds the target, launched where that is allowed, and sends; anew when the target went away before it took the talk. */
const deliver = async (
  state: State,
  ask: Ask,
  speaker: Speaker,
  limits: TalkLimits,
  launcher: Launcher | undefined,
  began: (begun: Begun) => void,
): Promise<Reply> => {
  let except: string | undefined
  let last: Reply | undefined
  for (let moves = 1; ; moves++) {
    const ready = launcher === undefined ? E.right(undefined) : await launcher()
    if (E.isLeft(ready)) return refusedReply(ready.left, ask.name)
    const target = await resolve(state, ask.name, {
      absentMs: launcher === undefined ? absentMs : 0,
      signal: limits.signal,
      ...(except === undefined ? {} : { except }),
    })()
    const mayMove = moves < mostMoves && !limits.signal.aborted
    if (E.isLeft(target)) {
      if (launcher !== undefined && target.left.absent && mayMove) continue
      return last ?? { ...refusedReply(target.left.why, ask.name), repeatable: true }
    }
    const reply = await send(state, ask, speaker, target.right, limits)
    if (reply.turn !== undefined) began({ target: target.right, turn: reply.turn })
    if (!reply.gone || !mayMove) return reply
    last = reply
    except = target.right.url
    ask.onEvent?.({ kind: 'again', why: `since ${ask.name} has changed its host` })
  }
}

/** Launches what of these does not run; it ends with `state.close()`. */
export const launcherFor = (
  state: State,
  names: readonly string[],
  ask: Pick<Ask, 'signal' | 'verbose' | 'onEvent'>,
): Launcher =>
  pipe(
    launchLazily(state, names, { verbose: ask.verbose === true }),
    TE.bimap(asOne, hosted => {
      if (hosted === undefined) return
      state.onClose.push(() => endOf(hosted, ask.signal))
      for (const sentence of hosted.warnings) ask.onEvent?.({ kind: 'warning', sentence })
      ask.onEvent?.({ kind: 'launched', instances: hosted.instances.map(({ name }) => name) })
    }),
  )

const send = (state: State, ask: Ask, speaker: Speaker, target: Target, limits: TalkLimits): Promise<Reply> => {
  ask.onEvent?.({ kind: 'sent', url: target.url })
  const timeoutMs = limits.leftMs()
  return delegate(
    target,
    talkOf(ask, speaker),
    { bearer: speaker.bearer },
    {
      now: state.where.now,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(ask.timeoutMs === undefined ? {} : { wholeTimeoutMs: ask.timeoutMs }),
      ...(ask.signal === undefined ? {} : { signal: ask.signal }),
      ...(ask.idempotencyKey === undefined ? {} : { idempotencyKey: ask.idempotencyKey }),
      ...(ask.onProgress === undefined ? {} : { onProgress: ask.onProgress }),
    },
  )()
}

const talkOf = ({ prompt, thread, root }: Ask, { fromInstance, depth }: Speaker): Talk => ({
  fromInstance,
  depth,
  prompt,
  ...(thread === undefined ? {} : { thread }),
  ...(root === undefined ? {} : { root }),
})

export const asOne = (mistakes: Mistakes): Failure => {
  const [first = failure('internal_error', 'The launch failed.'), ...others] = mistakes
  return others.length === 0 ? first : failure(first.code, mistakes.map(({ sentence }) => sentence).join(' '))
}

interface TalkLimits {
  /** Aborts when the caller gives up or its time is over. */
  readonly signal: AbortSignal
  readonly leftMs: () => number | undefined
}

const limitsOf = ({ signal, timeoutMs }: Ask): TalkLimits => {
  const elapsedMs = stopwatch()
  return {
    signal: AbortSignal.any([
      ...(signal === undefined ? [] : [signal]),
      ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(Math.ceil(timeoutMs))]),
    ]),
    leftMs: () => (timeoutMs === undefined ? undefined : Math.max(1, timeoutMs - elapsedMs())),
  }
}
