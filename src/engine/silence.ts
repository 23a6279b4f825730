import type { EngineEvent } from './engine.ts'
import { after } from './timer.ts'

/** Notices that a turn says nothing any more. */
export interface Silence {
  /** Something was printed, on whatever stream. */
  readonly broken: () => void
  readonly event: (event: EngineEvent) => void
  readonly stop: () => void
}

/** Calls `tooLong` after that much silence; a turn inside a tool call may be silent for as long as it likes. */
export const watchSilence = (limitMs: number | undefined, tooLong: () => void): Silence => {
  if (limitMs === undefined) return { broken: nothing, event: nothing, stop: nothing }
  const timer = after(limitMs, tooLong)
  let inTool = false
  timer.start()
  return {
    broken: () => {
      if (!inTool) timer.start()
    },
    event: ({ kind }) => {
      // A refusal belongs to the call; a retry is no word from the tool.
      if (kind !== 'denied' && kind !== 'retry') inTool = kind === 'tool'
      if (inTool) timer.stop()
      else timer.start()
    },
    stop: timer.stop,
  }
}

const nothing = (): void => undefined
