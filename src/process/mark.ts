import { readdirSync, readFileSync } from 'node:fs'
import { isRunning, startTimeOf } from './identity.ts'
import type { ProcessId } from './process-id.ts'

/** A process that carries a turn's mark in its environment. */
export type Marked = Pick<ProcessId, 'pid' | 'startTime'>

/**
 * Processes whose ERRAND_TURN names one of these marks, wherever they have moved; never this process itself.
 * Linux only: elsewhere an environment cannot be read, and there are none. Yields to the event loop while it looks.
 */
export const processesWithMark = async (marks: readonly string[]): Promise<readonly Marked[]> => {
  const wanted = new Set(marks)
  const found: Marked[] = []
  const pids = pidsNow()
  for (let at = 0; at < pids.length; at += pidsPerPass) {
    for (const pid of pids.slice(at, at + pidsPerPass)) {
      const startTime = carries(pid, wanted) ? startTimeOf(pid) : undefined
      if (startTime !== undefined && isRunning({ pid, startTime })) found.push({ pid, startTime })
    }
    await new Promise(resolve => setImmediate(resolve))
  }
  return found
}

// About half a millisecond of reading in /proc.
const pidsPerPass = 16

const pidsNow = (): readonly number[] => {
  if (process.platform !== 'linux') return []
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter(pid => pid > 1 && pid !== process.pid)
  } catch {
    return []
  }
}

const carries = (pid: number, wanted: ReadonlySet<string>): boolean => {
  try {
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`
    const at = environment.indexOf(variable)
    if (at === -1) return false
    const [value = ''] = environment.slice(at + variable.length).split('\0', 1)
    return value.split(':').some(mark => wanted.has(mark))
  } catch {
    return false
  }
}

const variable = '\0ERRAND_TURN='
