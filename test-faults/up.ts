import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import { type Place, stateFile } from '../test/cli/errand.ts'
import { jsonHeaders, send, talkBody } from '../test/fixtures/http.ts'

const bin = fileURLToPath(new URL('../bin/errand.js', import.meta.url))

/** `errand up` in a process of its own, listening. */
export interface Up {
  readonly child: ChildProcess
  readonly pid: number
  readonly ports: Readonly<Record<string, number>>
  readonly secret: string
  /** From the start of the process until all of them listened. */
  readonly startedInMs: number
  /** All of stderr until now. */
  readonly said: () => string
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
}

export const up = async (
  t: ExecutionContext,
  place: Place,
  names: readonly string[],
  nodeArgs: readonly string[] = [],
): Promise<Up> => {
  const begun = performance.now()
  const child = spawn(process.execPath, [...nodeArgs, bin, 'up', ...names, '--json'], {
    cwd: place.folder,
    env: { ...place.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await ended
  }
  t.teardown(() => kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ports: Record<string, number> = {}
  await new Promise<void>((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        const { instance, url } = JSON.parse(line)
        if (url !== undefined) ports[instance] = Number(new URL(url).port)
      }
      if (names.every(name => name in ports)) resolve()
    })
    void ended.then(() => reject(new Error(`It ended before it listened: ${said}`)))
  })
  const secret = readFileSync(stateFile(place, 'secret'), 'utf8').trim()
  return { child, pid: child.pid ?? 0, ports, secret, startedInMs: performance.now() - begun, said: () => said, kill }
}

export const talkTo = (
  { ports, secret }: Up,
  name: string,
  prompt: string,
  headers: Readonly<Record<string, string>> = {},
) =>
  send(ports[name] ?? 0, {
    headers: { ...jsonHeaders(secret), ...headers },
    body: talkBody({ fromInstance: 'operator', prompt }),
  })
