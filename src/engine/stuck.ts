import type { Failure } from '../protocol/failure.ts'
import type { EngineEvent, Usage } from './engine.ts'

/** What a CLI has said last, as far as it may mean that no answer will come. It is given the time, and reads no clock. */
export interface Stuck {
  readonly heard: (event: EngineEvent, atMs: number) => void
  /** A record came, whatever it says: nobody is being asked anything. */
  readonly moved: () => void
  /** It asked a person something. */
  readonly asked: (why: Failure, atMs: number) => void
  /** Nothing was heard yet that looks like work. */
  readonly isFresh: () => boolean
  /** When it has to be ended, and with what cause, unless something else is heard until then. */
  readonly due: () => Due | undefined
  /** The cause that it is stuck on: truer than the time that it took. */
  readonly cause: () => Failure | undefined
}

export interface Due {
  readonly atMs: number
  readonly why: Failure
}

type Retry = Extract<EngineEvent, { kind: 'retry' }>

/** `meaning`: the failure that such a notice would be. `deadlineMs`: when the turn's time is up. */
export const stuckOf = (meaning: (retry: Retry) => Failure, deadlineMs: number): Stuck => {
  /** Notices with no work in between. */
  let run: readonly Notice[] = []
  let question: Due | undefined
  let fresh = true

  return {
    heard: (event, atMs) => {
      if (event.kind === 'retry') run = noted(run, noticeOf(event, meaning(event), atMs))
      if (!isWork(event)) return
      run = []
      question = undefined
      fresh = false
    },
    moved: () => {
      question = undefined
    },
    asked: (why, atMs) => {
      question ??= { atMs: atMs + questionMs, why }
    },
    isFresh: () => fresh,
    due: () => {
      const all = [...runDues(run, deadlineMs), ...(question === undefined ? [] : [question])]
      return all.toSorted((a, b) => a.atMs - b.atMs)[0]
    },
    cause: () => run.at(-1)?.why ?? question?.why,
  }
}

interface Notice {
  readonly atMs: number
  readonly why: Failure
  /** How long it said that it would wait. */
  readonly waitMs: number
}

const noticeOf = ({ retryAfterMs = 0 }: Retry, why: Failure, atMs: number): Notice => ({
  atMs,
  why: retryAfterMs > 0 && why.retryAfterMs === undefined && !isHopeless(why) ? { ...why, retryAfterMs } : why,
  waitMs: Math.max(retryAfterMs, why.retryAfterMs ?? 0),
})

// Only the first, the first two hopeless ones and the last bear on anything.
const noted = (run: readonly Notice[], notice: Notice): readonly Notice[] =>
  [...run, notice].filter(
    (one, at, all) => at === 0 || at === all.length - 1 || (isHopeless(one.why) && hopeless(all).indexOf(one) < 2),
  )

const runDues = (run: readonly Notice[], deadlineMs: number): readonly Due[] => {
  const [first] = run
  if (first === undefined) return []
  const { why, atMs, waitMs } = run.at(-1) ?? first
  const limitMs = first.atMs + patienceMs
  const [once, again] = hopeless(run)
  return [
    ...(again === undefined ? [] : [{ why: again.why, atMs: again.atMs }]),
    ...(once === undefined ? [] : [{ why: once.why, atMs: once.atMs + hopelessMs }]),
    ...(waitMs > longestWaitMs || (waitMs > 0 && atMs + waitMs > deadlineMs) ? [{ why, atMs }] : []),
    // It says itself that it will still be trying then; else the next notice tells, or its silence.
    ...(atMs + waitMs >= limitMs ? [{ why, atMs: Math.max(limitMs, atMs) }] : []),
    { why, atMs: Math.max(limitMs, atMs + waitMs + thinkingMs) },
  ]
}

const hopeless = (run: readonly Notice[]): readonly Notice[] => run.filter(({ why }) => isHopeless(why))

// No waiting helps there.
const isHopeless = ({ code }: Failure): boolean =>
  code === 'auth' || code === 'quota_exhausted' || code === 'session_state'

const isWork = (event: EngineEvent): boolean => {
  switch (event.kind) {
    case 'text':
      return event.text !== ''
    case 'usage':
      return saysSomething(event.usage)
    // A failed step that the CLI may get over is one more of its tries.
    case 'result':
      return event.ok || event.mayGoOn !== true
    case 'tool':
    case 'asked':
      return true
    default:
      return false
  }
}

// Some CLIs print zeros for a request that was refused.
const saysSomething = ({ inputTokens, outputTokens }: Usage): boolean => inputTokens !== 0 || outputTokens !== 0

// A refused key is refused again. One notice alone may be a token that is being renewed, which takes a second or two.
const hopelessMs = 5000
// An overload that outlasts it is better told to the caller, who can wait without holding a turn.
const patienceMs = 45_000
// Whoever means to wait longer is waiting for a window of usage to end, not for a server to recover.
const longestWaitMs = 300_000
// After the last notice the next try may have got through, and a model may think that long before its first word.
const thinkingMs = 120_000
// A question that is followed by no record was not answered by anybody; a CLI that goes on prints one long before.
const questionMs = 5000
