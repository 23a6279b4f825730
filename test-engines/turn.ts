import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Allowance } from '../src/budget/budget.ts'
import type { Engine, EngineEvent, McpServer } from '../src/engine/engine.ts'
import { loadEngine } from '../src/engine/load.ts'
import { loadPricer } from '../src/engine/prices.ts'
import type { TurnReport } from '../src/engine/report.ts'
import { run } from '../src/engine/run.ts'
import type { Resume, RunRequest } from '../src/engine/run-request.ts'
import type { EngineSettings } from '../src/engine/settings.ts'
import type { ProcessId } from '../src/process/process-id.ts'
import type { CliName } from './clis.ts'
import { type Mode, type Model, startModel } from './model.ts'
import { makePlace, type Place } from './place.ts'
import { setupOf } from './setups.ts'
import { type Heard, tapped } from './tapped.ts'

/** What the model asks for in the mode `tool`, unless a test names another command. */
export const delegation = 'errand talk worker "over to you"'

export interface Asked {
  readonly mode: Mode
  readonly prompt?: string
  readonly settings?: Partial<EngineSettings>
  readonly allowance?: Allowance
  readonly loggedIn?: boolean
  /** Instead of the model's. */
  readonly url?: string
  readonly resume?: Resume
  readonly mcp?: McpServer
  /** What the model asks for in the modes `tool` and `write`: a shell command, a file (absolute). */
  readonly command?: string
  readonly writesTo?: string
  /** Called once the turn has begun, with what cancels it. */
  readonly meanwhile?: (turn: { readonly begun: Promise<void>; readonly cancel: AbortController }) => void
}

export interface Ran {
  readonly report: TurnReport
  readonly process: ProcessId | undefined
  readonly mark: string
  readonly ms: number
  /** Requests to the model. */
  readonly asked: number
  readonly heard: Heard
  readonly events: readonly EngineEvent[]
}

/** A CLI in a home of its own, with its model: where turns are run, one after another. */
export interface Bench {
  readonly name: CliName
  readonly engine: Engine
  readonly place: Place
  readonly model: Model
  /** One turn of the real CLI, through the whole of `run`. */
  readonly turn: (asked: Asked) => Promise<Ran>
  /** What such a turn asks of `run`. */
  readonly requestFor: (asked: Asked) => Promise<RunRequest>
  readonly close: () => Promise<void>
}

export const openBench = async (name: CliName, cli: readonly string[]): Promise<Bench> => {
  const place = await makePlace()
  const wishesOf = ({ command = delegation, writesTo = join(place.cwd, 'made.txt') }: Partial<Asked>) => ({
    command,
    path: writesTo,
  })
  const model = await startModel(wishesOf({}))
  const engine = await engineOf(name)

  const requestFor = async (asked: Asked): Promise<RunRequest> => {
    model.wish(wishesOf(asked))
    const setup = setupOf(name, asked.url ?? model.url(asked.mode), asked.loggedIn)
    await place.furnish(setup)
    const settings: EngineSettings = {
      engine,
      cli,
      args: setup.args,
      cwd: place.cwd,
      model: setup.model,
      env: setup.envNames,
      timeoutMs: 240_000,
      graceMs: 2000,
      lineLimitBytes: 8 * 1024 ** 2,
      ...asked.settings,
    }
    const mark = `live-${name}-${process.pid}-${++turns}`
    return {
      settings,
      prompt: asked.prompt ?? 'Say hi <<ALPHA>>',
      allowance: asked.allowance ?? {},
      priceOf: await loadPricer(settings),
      environment: place.environment(setup),
      turnFolder: join(place.folder, mark),
      turnEnvironment: {
        ERRAND_TOKEN: 'token-of-this-turn',
        ERRAND_TURN: mark,
        ERRAND_CONFIG: join(place.folder, 'budgets.json'),
        ERRAND_REPORT: join(place.folder, 'report.jsonl'),
      },
      binFolder: place.bin,
      cancel: new AbortController().signal,
      now: Date.now,
      onStarted: () => {},
      onSeen: () => {},
      onEnding: async () => {},
      ...(asked.resume === undefined ? {} : { resume: asked.resume }),
      ...(asked.mcp === undefined ? {} : { mcp: asked.mcp }),
    }
  }

  const turn = async (asked: Asked): Promise<Ran> => {
    const request = await requestFor(asked)
    const cancel = new AbortController()
    const askedBefore = model.asked()
    const { engine: tap, heard } = tapped(request.settings.engine)
    const events: EngineEvent[] = []
    let started: ProcessId | undefined
    asked.meanwhile?.({ begun: model.begun, cancel })
    const startedAt = performance.now()
    const report = await run({
      ...request,
      settings: { ...request.settings, engine: tap },
      cancel: cancel.signal,
      onStarted: one => {
        started = one
      },
      onEvent: event => void events.push(event),
    })()
    const ms = Math.round(performance.now() - startedAt)
    const { ERRAND_TURN: mark } = request.turnEnvironment
    return { report, process: started, mark, ms, asked: model.asked() - askedBefore, heard: heard(), events }
  }

  const close = async (): Promise<void> => {
    await model.stop()
    await place.remove()
  }

  return { name, engine, place, model, turn, requestFor, close }
}

let turns = 0

// By its file where it is not built in.
const engineOf = async (name: CliName): Promise<Engine> => {
  const file = join(import.meta.dirname, '..', 'engines', `${name}.ts`)
  const engine = await loadEngine(existsSync(file) ? file : name, import.meta.dirname)()
  if (E.isLeft(engine)) throw new Error(engine.left)
  return engine.right
}
