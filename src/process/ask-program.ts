import { spawn } from 'node:child_process'
import { startTimeOf } from './identity.ts'
import { signalGroup } from './signal.ts'

/** A program that is asked a short question about itself. */
export interface Question {
  readonly file: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** What it said, at most 64 KiB of each stream; no `status` where it did not start, was ended, or took too long. */
export interface Told {
  readonly status?: number
  readonly stdout: string
  readonly stderr: string
  readonly late: boolean
}

const keptBytes = 64 * 1024

/**
 * Asks with stdin closed, and ends its group, whatever it answered and whoever holds its pipes. What left the group is the
 * caller's to look for (`processesWithMark`).
 */
export const askProgram =
  ({ file, args, cwd, env, timeoutMs }: Question): (() => Promise<Told>) =>
  () =>
    new Promise(resolve => {
      const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
      const leader = child.pid === undefined ? undefined : { pid: child.pid, startTime: startTimeOf(child.pid) ?? '' }
      const said = { stdout: kept(), stderr: kept() }
      child.stdout.on('data', said.stdout.add)
      child.stderr.on('data', said.stderr.add)
      let late = false
      const endGroup = (): void => {
        if (leader !== undefined) signalGroup(leader, 'SIGKILL')
      }
      const finish = (status: number | null): void => {
        clearTimeout(timer)
        child.stdout.destroy()
        child.stderr.destroy()
        const code = late || status === null ? {} : { status }
        resolve({ ...code, stdout: said.stdout.text(), stderr: said.stderr.text(), late })
      }
      const timer = setTimeout(() => {
        late = true
        endGroup()
        // One that not even a kill ends is not waited for.
        setTimeout(finish, tailMs, null)
      }, timeoutMs)
      child.once('error', () => finish(null))
      child.once('exit', status => {
        endGroup()
        // What it left of its last words is there by now, or somebody else holds the pipe.
        const tail = setTimeout(() => finish(status), tailMs)
        child.once('close', () => {
          clearTimeout(tail)
          finish(status)
        })
      })
    })

const tailMs = 500

const kept = () => {
  const chunks: Buffer[] = []
  let length = 0
  return {
    add: (chunk: Buffer): void => {
      if (length < keptBytes) chunks.push(chunk.subarray(0, keptBytes - length))
      length += chunk.length
    },
    text: (): string => Buffer.concat(chunks).toString('utf8'),
  }
}
