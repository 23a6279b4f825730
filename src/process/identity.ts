import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import type { ProcessId } from './process-id.ts'

/**
 * What can be said of a recorded process: `elsewhere` = nobody here can judge, since it lives in another pid namespace of this
 * boot, or since this process cannot look (it has no file descriptor left).
 */
export type Life = 'alive' | 'gone' | 'elsewhere'

/** This process, as it is recorded for others. */
export const thisProcess = (): ProcessId => identify(process.pid)

/** A process of this machine, as it is recorded; the start time is empty when it has ended. */
export const identify = (pid: number): ProcessId => ({ pid, startTime: startTimeOf(pid) ?? '', ...here() })

/** When a pid started, as text to be compared; nothing when there is no such process. A zombie still has one. */
export const startTimeOf = (pid: number): string | undefined => statOf(pid)?.startTime

/** Does a recorded process still run? A pid that now belongs to another process is `gone`, and so is a zombie. */
export const lifeOf = ({ pid, startTime, bootId, pidNamespace }: ProcessId): Life => {
  const now = here()
  if (bootId !== now.bootId) return 'gone'
  if (pidNamespace !== now.pidNamespace) return 'elsewhere'
  if (isRunning({ pid, startTime })) return 'alive'
  return statOf(pid) === undefined && !canLook() ? 'elsewhere' : 'gone'
}

/** The same for a process that is known to be of this namespace. */
export const isRunning = ({ pid, startTime }: Pick<ProcessId, 'pid' | 'startTime'>): boolean => {
  const stat = statOf(pid)
  return stat !== undefined && stat.state !== 'Z' && stat.state !== 'X' && stat.startTime === startTime
}

/** Whether nothing to be found means that nothing is there: this process is, in any case. */
const canLook = (): boolean => statOf(process.pid) !== undefined

interface Stat {
  readonly state: string
  readonly startTime: string
}

const onLinux = process.platform === 'linux'

const statOf = (pid: number): Stat | undefined => {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined
  return onLinux ? procStat(pid) : psStat(pid)
}

// The second field is the name in parentheses and may itself hold spaces and parentheses.
const procStat = (pid: number): Stat | undefined => {
  const text = read(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  if (text === undefined) return undefined
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields[0], fields[19]]
  return state === undefined || startTime === undefined ? undefined : { state, startTime }
}

const psStat = (pid: number): Stat | undefined => {
  const text = read(() => ask('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]))
  const [, state, startTime] = /^\s*(\S)\S*\s+(.+?)\s*$/.exec(text ?? '') ?? []
  return state === undefined || startTime === undefined ? undefined : { state, startTime }
}

let place: Pick<ProcessId, 'bootId' | 'pidNamespace'> | undefined

const here = (): Pick<ProcessId, 'bootId' | 'pidNamespace'> => {
  place ??= {
    bootId: (
      read(() =>
        onLinux
          ? readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')
          : ask('sysctl', ['-n', 'kern.bootsessionuuid']),
      ) ?? ''
    ).trim(),
    pidNamespace: (onLinux ? read(() => readlinkSync('/proc/self/ns/pid')) : undefined) ?? '',
  }
  return place
}

// In the C locale, so that the time of one process reads the same for every caller.
const ask = (file: string, args: readonly string[]): string =>
  execFileSync(file, args, {
    encoding: 'utf8',
    env: { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })

const read = (attempt: () => string): string | undefined => {
  try {
    return attempt()
  } catch {
    return undefined
  }
}
