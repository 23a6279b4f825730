import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type * as T from 'fp-ts/lib/Task.js'
import type { Surroundings } from '../config/surroundings.ts'
import type { Command, Engine } from '../engine/engine.ts'
import { environmentOf } from '../engine/environment.ts'
import { namesOf } from '../engine/provider-keys.ts'
import { endOrphan } from '../engine/reap.ts'
import { askProgram, type Told } from '../process/ask-program.ts'

/** Asks a provider CLI with these arguments, for 10 s unless told. */
export type AskCli = (args: readonly string[], withinMs?: number) => T.Task<Told>

export interface Asked {
  readonly engine: Engine
  /** The program and its leading arguments. */
  readonly cli: readonly string[]
  readonly model?: string
  /** Names that the instance lets through. */
  readonly passed: readonly string[]
}

export interface CliDesk {
  /** All of the environment that its turns get, but for what belongs to a turn. */
  readonly environment: Readonly<Record<string, string>>
  readonly ask: AskCli
}

const answerWithinMs = 10_000

/**
 * Lets `use` ask a CLI, in the environment of its turns, where no browser can be opened, and in a folder of its own that is
 * removed after. Whatever it started is ended.
 */
export const withCli = async <A>(
  asked: Asked,
  { environment: host }: Pick<Surroundings, 'environment'>,
  use: (desk: CliDesk) => Promise<A>,
): Promise<A> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'errand-doctor-'))
  const mark = `doctor-${randomBytes(8).toString('hex')}`
  const { engine, cli, model, passed } = asked
  const [file = '', ...leading] = cli
  const command = commandFor(asked, folder)
  const environment = environmentOf({
    host,
    engineNames: namesOf(engine, model),
    instanceNames: passed,
    command: { ...command.env, ...harmless },
    turn: { ERRAND_TURN: mark },
    tells: false,
    binFolder: undefined,
  })
  try {
    for (const [name, content] of Object.entries(command.files ?? {})) await write(path.join(folder, name), content)
    return await use({
      environment,
      ask: (args, timeoutMs = answerWithinMs) =>
        askProgram({ file, args: [...leading, ...args], cwd: folder, env: environment, timeoutMs }),
    })
  } finally {
    await endOrphan(mark)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Its switches against updates, telemetry and questions are those of a turn. An engine that throws is told of by `check`. */
const commandFor = ({ engine, cli, model }: Asked, folder: string): Pick<Command, 'env' | 'files'> => {
  try {
    return engine.command({ prompt: '', cli, args: [], cwd: folder, folder, ...(model === undefined ? {} : { model }) })
  } catch {
    return {}
  }
}

// `true` does nothing, and does it well.
const harmless = { BROWSER: 'true', NO_COLOR: '1', CI: '1', TERM: 'dumb' }

const write = async (file: string, content: string): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, content, { mode: 0o600 })
}
