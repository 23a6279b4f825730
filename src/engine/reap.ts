import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../process/identity.ts'
import { processesWithMark } from '../process/mark.ts'
import type { ProcessId } from '../process/process-id.ts'
import { signalGroup, signalProcess } from '../process/signal.ts'

type Leader = Pick<ProcessId, 'pid' | 'startTime'>

/** A turn's tree that has to end. */
export interface Tree {
  readonly leader: Leader
  /** What its processes carry in ERRAND_TURN. */
  readonly mark: string
  /** Resolved when the leader has ended. */
  readonly exited: Promise<unknown>
}

/** TERM to the group, grace, KILL to the group, then whatever carries the mark. Resolved when nothing of it is left. */
export const endTree = async ({ leader, mark, exited }: Tree, graceMs: number): Promise<void> => {
  signalGroup(leader, 'SIGTERM')
  await within(exited, graceMs)
  signalGroup(leader, 'SIGKILL')
  await within(exited, killedWithinMs)
  await sweep([mark])
}

/** Ends what a turn left behind after its host was killed; `leader` is what the ledger had recorded of it. */
export const endOrphan = async (mark: string, leader?: Leader): Promise<void> => {
  if (leader !== undefined && isRunning(leader)) {
    const gone = (async () => {
      while (isRunning(leader)) await sleep(25)
    })()
    return endTree({ leader, mark, exited: gone }, orphanGraceMs)
  }
  await sweep([mark])
}

/**
 * After a turn that ended by itself: its group is gone, but something may have left the group. Looked for soon and for many
 * turns at once, off the reply's path.
 */
export const sweepSoon = (mark: string): void => {
  waiting.add(mark)
  timer ??= setTimeout(() => void sweepNow(), sweepPauseMs).unref()
}

/** Looks at once for what `sweepSoon` was told of; to be awaited before the host ends. */
export const sweepNow = (): Promise<void> => {
  clearTimeout(timer)
  timer = undefined
  const marks = [...waiting]
  waiting.clear()
  running = Promise.all([running, sweep(marks)]).then(() => undefined)
  return running
}

/** Waits for an event, but no longer than this. */
export const within = async (event: Promise<unknown>, ms: number): Promise<void> => {
  const limit = new AbortController()
  await Promise.race([event, sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined)])
  limit.abort()
}

const killedWithinMs = 2000
const orphanGraceMs = 1000
const sweepPauseMs = 500
const sweepRounds = 20

const waiting = new Set<string>()
let timer: NodeJS.Timeout | undefined
let running: Promise<void> = Promise.resolve()

// Again until nothing is found: a process that forks while it is looked for leaves a child.
const sweep = async (marks: readonly string[]): Promise<void> => {
  for (let round = 0; round < sweepRounds && marks.length > 0; round++) {
    const left = await processesWithMark(marks)
    if (left.length === 0) return
    for (const each of left) signalProcess(each, 'SIGKILL')
    await sleep(round === 0 ? 2 : 20)
  }
}
