import type { State } from '../launch/state.ts'
import { type StopSignal, statusOfSignal, type Terminal } from './terminal.ts'

/** Whoever waits for an answer, and may give up. */
export interface Caller {
  readonly signal: AbortSignal
  readonly off: () => void
  /** Set once it gave up. */
  readonly status: () => number | undefined
}

export const callerOf = (terminal: Terminal): Caller => {
  const controller = new AbortController()
  let heard: StopSignal | undefined
  const off = terminal.onSignal(signal => {
    heard ??= signal
    controller.abort()
  })
  return { signal: controller.signal, off, status: () => heard && statusOfSignal[heard] }
}

const noticeAfterMs = 1000

/** What a talk launched may be in use by others by now; it ends with their last turn. */
export const closed = async (terminal: Terminal, state: State): Promise<void> => {
  const notice = setTimeout(() => {
    if (terminal.watched) terminal.say(terminal.dim('others still use what this talk launched; Ctrl-C ends it now'))
  }, noticeAfterMs)
  await state.close()
  clearTimeout(notice)
}
