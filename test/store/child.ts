import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'

export interface Child {
  /** The next line that it prints; rejects when it ends first. */
  readonly line: () => Promise<string>
  readonly say: (text: string) => void
  readonly kill: () => Promise<void>
  /** Its exit status. */
  readonly ended: Promise<number | null>
}

/** A Node process that runs one of the programs here; killed at the end of the test, should it live. */
export const startChild = (
  t: ExecutionContext,
  program: URL,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Child => {
  const child = spawn(process.execPath, [fileURLToPath(program), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const ended = endOf(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  return {
    line: async () => {
      const next = await lines.next()
      if (next.done) throw new Error(`${program.pathname} ended without a word`)
      return next.value
    },
    say: text => child.stdin.write(`${text}\n`),
    kill,
    ended,
  }
}

const endOf = async (child: ChildProcess): Promise<number | null> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}
