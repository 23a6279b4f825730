import type { Failure } from '../protocol/failure.ts'
import type { EngineEvent } from './engine.ts'
import type { Guarded } from './guarded.ts'
import type { Reason } from './outcome.ts'
import { endedBy, tooQuiet, tooSlow } from './reasons.ts'
import type { RunRequest } from './run-request.ts'
import { watchSilence } from './silence.ts'
import { after } from './timer.ts'
import { watchStuck } from './watch-stuck.ts'

/** Everything that may end a turn because of the time that went by, or because it was cancelled. */
export interface Clocks {
  readonly event: (event: EngineEvent) => void
  readonly record: () => void
  /** A line that is no record. */
  readonly line: (line: string) => void
  /** Something came on a stream; `begun`: the line that it did not end. */
  readonly printed: (begun: string) => void
  readonly stop: () => void
}

export const watchClocks = (
  request: RunRequest,
  engine: Guarded,
  endFor: (reason: Reason, why: Failure) => void,
): Clocks => {
  const { settings, cancel, idleTimeoutMs } = request
  const stuck = watchStuck(request, engine, why => endFor('stuck', why))
  // A CLI that tries again and again is not slow: what it is stuck on is the truer cause.
  const timeIsUp = (why: Failure): void => {
    const cause = stuck.cause()
    if (cause === undefined) endFor('timedOut', why)
    else endFor('stuck', cause)
  }
  const clock = after(settings.timeoutMs, () => timeIsUp(tooSlow(settings.timeoutMs)))
  const silence = watchSilence(idleTimeoutMs, () => timeIsUp(tooQuiet(idleTimeoutMs ?? 0)))
  const onAbort = (): void => endFor('cancelled', endedBy(cancel))
  clock.start()
  cancel.addEventListener('abort', onAbort, { once: true })

  return {
    event: event => {
      stuck.event(event)
      silence.event(event)
    },
    record: stuck.record,
    line: stuck.line,
    printed: begun => {
      silence.broken()
      stuck.line(begun)
    },
    stop: () => {
      for (const each of [clock, silence, stuck]) each.stop()
      cancel.removeEventListener('abort', onAbort)
    },
  }
}
