import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'

const bin = fileURLToPath(new URL('../../bin/errand.js', import.meta.url))

/** A folder with a budgets.json and a state folder of its own. */
export interface Place {
  readonly folder: string
  readonly stateHome: string
  readonly environment: Readonly<Record<string, string>>
  readonly write: (name: string, content: string | object) => string
  readonly read: (name: string) => string
}

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command line that runs, and what it has said so far. */
export interface Running {
  readonly child: ChildProcess
  /** Resolves when it has said this on stdout or stderr; fails when it ends before. */
  readonly says: (what: string | RegExp) => Promise<string>
  readonly ended: Promise<Ran>
}

export interface RunOptions {
  readonly input?: string | Uint8Array
  /** Nobody closes the pipe on its stdin. */
  readonly open?: boolean
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
}

/** Makes a place that is gone when the test is; `instances` as in budgets.json. */
export const placeOf = (t: ExecutionContext, instances?: object, more: object = {}): Place => {
  const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'errand-cli-'))
  t.teardown(() => fs.rmSync(root, { recursive: true, force: true }))
  const folder = path.join(root, 'project')
  const stateHome = path.join(root, 'state')
  fs.mkdirSync(folder)
  const write = (name: string, content: string | object): string => {
    const file = path.join(folder, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, undefined, 2))
    return file
  }
  if (instances !== undefined) write('budgets.json', { ...more, instances })
  return {
    folder,
    stateHome,
    write,
    read: name => fs.readFileSync(path.join(folder, name), 'utf8'),
    environment: {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
      HOME: folder,
      XDG_STATE_HOME: stateHome,
    },
  }
}

/** An instance that a shell plays: the prompt is on stdin, and what it prints is the answer. */
export const shell = (script: string, more: object = {}): object => ({
  engine: 'command',
  command: ['sh', '-c', script],
  ...more,
})

/** A file of the place's one state folder. */
export const stateFile = ({ stateHome }: Place, name: string): string => {
  const [state = ''] = fs.readdirSync(path.join(stateHome, 'errand'))
  return path.join(stateHome, 'errand', state, name)
}

/** Starts the real command line, as a person would. */
export const start = (place: Place, args: readonly string[], options: RunOptions = {}): Running => {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: options.folder ?? place.folder,
    env: { ...place.environment, ...options.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      for (const look of waiting) look()
    })
  }
  child.stdin.on('error', () => {})
  if (options.open !== true) child.stdin.end(options.input ?? '')
  const ended = new Promise<Ran>(resolve => {
    child.on('close', status => resolve({ status, ...said }))
  })
  const says = (what: string | RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const all = said.stdout + said.stderr
        if (!(typeof what === 'string' ? all.includes(what) : what.test(all))) return
        waiting.delete(look)
        resolve(all)
      }
      waiting.add(look)
      look()
      void ended.then(() => {
        look()
        reject(new Error(`It ended without saying ${what}: ${JSON.stringify(said)}`))
      })
    })
  return { child, says, ended }
}

/** Runs it to its end. */
export const errand = (place: Place, args: readonly string[], options: RunOptions = {}): Promise<Ran> =>
  start(place, args, options).ended

/** `errand up`, until it listens; ended with the test. */
export const startUp = async (t: ExecutionContext, place: Place, ...names: readonly string[]): Promise<Running> => {
  const running = start(place, ['up', ...names])
  t.teardown(async () => {
    running.child.kill('SIGINT')
    await running.ended
  })
  await running.says('listens on')
  return running
}

/** Waits for something that another process makes true. */
export const until = async (what: string, isTrue: () => boolean): Promise<void> => {
  const giveUpAtMs = Date.now() + 30_000
  while (!isTrue()) {
    if (Date.now() > giveUpAtMs) throw new Error(`It never came true: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Waits until the instance that listens there refuses new talks. */
export const untilStopping = async (url: string): Promise<void> => {
  const giveUpAtMs = Date.now() + 30_000
  for (;;) {
    const told = await fetch(`${url}/api/health`).then(
      answer => answer.text(),
      () => '"stopping"',
    )
    if (told.includes('"stopping"')) return
    if (Date.now() > giveUpAtMs) throw new Error(`It never stopped: ${told}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // A process that ended and was not yet waited for is gone to us.
  const stat = fs.existsSync(`/proc/${pid}/stat`) ? fs.readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
  return !/\) Z /.test(stat)
}

/** No sentence for people holds a stack trace. */
export const isPlain = (stderr: string): boolean => !/^\s+at .+[:)]\d|node:internal|\.ts:\d+|\.js:\d+/m.test(stderr)
