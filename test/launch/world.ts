import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Config } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/find.ts'
import type { Surroundings } from '../../src/config/surroundings.ts'
import { openState, type State } from '../../src/launch/state.ts'

/** A folder with a budgets.json and a state of its own; gone after the test. */
export interface World {
  readonly folder: string
  readonly where: Surroundings
  readonly write: (name: string, content: string) => Promise<string>
  readonly config: (budgets: unknown) => Promise<Config>
  readonly state: (budgets: unknown) => Promise<State>
}

export const errandScript = fileURLToPath(new URL('../../bin/errand.js', import.meta.url))

export const makeWorld = async (t: ExecutionContext): Promise<World> => {
  const base = await realpath(await mkdtemp(path.join(tmpdir(), 'errand-test-')))
  const folder = path.join(base, 'project')
  await mkdir(folder)
  t.teardown(() => rm(base, { recursive: true, force: true, maxRetries: 5 }))
  const { ERRAND_TURN: _turn, ERRAND_TOKEN: _token, ERRAND_CONFIG: _config, ...environment } = process.env
  const where: Surroundings = {
    environment: { ...environment, XDG_STATE_HOME: path.join(base, 'state') },
    folder,
    pid: process.pid,
    now: Date.now,
    errand: [process.execPath, errandScript],
  }
  const write = async (name: string, content: string) => {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, content)
    return file
  }
  const config = async (budgets: unknown) => {
    await write('budgets.json', JSON.stringify(budgets))
    return right(readConfig(undefined, where))
  }
  return {
    folder,
    where,
    write,
    config,
    state: async budgets => {
      const state = await right(openState(await config(budgets), where))
      t.teardown(state.close)
      return state
    },
  }
}

export const right = async <Left, A>(task: TE.TaskEither<Left, A>): Promise<A> => {
  const either = await task()
  if (E.isRight(either)) return either.right
  throw new Error(JSON.stringify(either.left))
}

export const left = async <Left, A>(task: TE.TaskEither<Left, A>): Promise<Left> => {
  const either = await task()
  if (E.isLeft(either)) return either.left
  throw new Error(`right: ${JSON.stringify(either.right)}`)
}

/** Waits until it is true; the test's own time limit ends it. */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 10))
}

/** An instance of the command engine: a program in JavaScript, on this Node. */
export const scripted = (program: string, more: Readonly<Record<string, unknown>> = {}) => ({
  engine: 'command',
  command: [process.execPath, '-e', program],
  ...more,
})

export const echo = 'process.stdin.pipe(process.stdout)'
