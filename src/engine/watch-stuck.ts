import type { Failure } from '../protocol/failure.ts'
import type { EngineEvent } from './engine.ts'
import type { Guarded } from './guarded.ts'
import { questionIn, waitsForPerson } from './question.ts'
import type { RunRequest } from './run-request.ts'
import { type Stuck, stuckOf } from './stuck.ts'
import { after } from './timer.ts'

/** Sees when a CLI tries the same again and again, or waits for a person. */
export interface StuckWatch {
  readonly event: (event: EngineEvent) => void
  readonly record: () => void
  /** A line, or the beginning of one, that is no record. */
  readonly line: (said: string) => void
  readonly cause: Stuck['cause']
  readonly stop: () => void
}

/** `giveUp` is called once it is plain that no answer will come. */
export const watchStuck = (
  { settings, now }: Pick<RunRequest, 'settings' | 'now'>,
  engine: Pick<Guarded, 'classify'>,
  giveUp: (why: Failure) => void,
): StuckWatch => {
  const begunAtMs = performance.now()
  const clock = (): number => performance.now() - begunAtMs
  const stuck = stuckOf(retry => engine.classify({ retry: named(retry), ...nothingElse }, now()), settings.timeoutMs)

  const look = (): void => {
    timer.stop()
    const due = stuck.due()
    if (due === undefined) return
    const leftMs = due.atMs - clock()
    if (leftMs <= 0) giveUp(due.why)
    else timer.start(leftMs)
  }
  const timer = after(0, look)

  const line = (said: string): void => {
    // The output of a text engine is its answer, and its silence means nothing: nobody can tell a question there.
    if (said === '' || settings.engine.output === 'text' || !stuck.isFresh()) return
    const about = questionIn(said)
    if (about === undefined) return
    stuck.asked(waitsForPerson(said, about, settings), clock())
    look()
  }
  return {
    event: event => {
      const waited = stuck.due() !== undefined
      stuck.heard(event, clock())
      if (waited || event.kind === 'retry') look()
    },
    record: () => {
      if (stuck.due() === undefined) return
      stuck.moved()
      look()
    },
    line,
    cause: stuck.cause,
    stop: timer.stop,
  }
}

type Retry = Extract<EngineEvent, { kind: 'retry' }>

const nothingElse = { noise: '', stderr: '' }

// It has not ended, so that a sentence about its end would be wrong; a bare word, or nothing, is no sentence.
const named = (retry: Retry): Retry => {
  const reason = retry.reason?.trim() ?? ''
  if (/\s/.test(reason)) return retry
  const facts = [reason, retry.status === undefined ? '' : `status ${retry.status}`].filter(fact => fact !== '')
  const why = facts.length === 0 ? ', and does not say why' : `: ${facts.join(', ')}`
  return { ...retry, reason: `The CLI tries again and again${why}.` }
}
