import { isRunning, startTimeOf } from './identity.ts'
import type { ProcessId } from './process-id.ts'

type Target = Pick<ProcessId, 'pid' | 'startTime'>

/** Signals a process, if its pid still belongs to it. True when the signal was sent. */
export const signalProcess = (target: Target, signal: NodeJS.Signals): boolean =>
  isRunning(target) && send(target.pid, signal)

/**
 * Signals the group that a process leads. The leader may have ended: its number stays reserved for as long as the group has
 * members, so only a leader with another start time means that the group is a stranger's.
 */
export const signalGroup = ({ pid, startTime }: Target, signal: NodeJS.Signals): boolean => {
  const leader = startTimeOf(pid)
  return (leader === undefined || leader === startTime) && send(-pid, signal)
}

// 0, 1, -0 and -1 mean this group, init, and everybody.
const send = (pid: number, signal: NodeJS.Signals): boolean => {
  if (!Number.isSafeInteger(pid) || Math.abs(pid) < 2) return false
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
