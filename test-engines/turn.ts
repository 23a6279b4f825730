import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Allowance } from '../src/budget/budget.ts'
import { loadEngine } from '../src/engine/load.ts'
import { loadPricer } from '../src/engine/prices.ts'
import type { TurnReport } from '../src/engine/report.ts'
import { run } from '../src/engine/run.ts'
import type { EngineSettings } from '../src/engine/settings.ts'
import type { ProcessId } from '../src/process/process-id.ts'
import { type CliName, cliPath } from './clis.ts'
import { type Mode, type Model, startModel } from './model.ts'

/** What the model asks for in the mode `tool`, unless a test names another command. */
export const delegation = 'errand talk worker "over to you"'

export interface Asked {
  readonly mode: Mode
  readonly prompt?: string
  readonly settings?: Partial<EngineSettings>
  readonly allowance?: Allowance
  readonly command?: string
}

export interface Ran {
  readonly report: TurnReport
  readonly model: Model
  readonly process: ProcessId | undefined
  readonly mark: string
  readonly ms: number
  /** The folder that the CLI ran in. */
  readonly cwd: string
}

/** One turn of the real CLI, through the whole of `run`, in a home of its own, against the model on loopback. */
export const turn = async (t: ExecutionContext, name: CliName, asked: Asked): Promise<Ran> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-engines-'))
  const model = await startModel(asked.command ?? delegation)
  t.teardown(async () => {
    await model.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const [home, cwd, bin] = [join(folder, 'home'), join(folder, 'work'), join(folder, 'bin')]
  for (const one of [home, cwd, bin]) await mkdir(one)
  await writeFile(join(bin, 'errand'), '#!/bin/sh\necho "errand ran: $* with $ERRAND_TOKEN"\n')
  await chmod(join(bin, 'errand'), 0o755)

  const settings = await settingsOf(name, model.url(asked.mode), cwd, asked.settings)
  const mark = `live-${name}-${process.pid}-${++turns}`
  let started: ProcessId | undefined
  const startedAt = performance.now()
  const report = await run({
    settings,
    prompt: asked.prompt ?? 'Say hi <<ALPHA>>',
    allowance: asked.allowance ?? {},
    priceOf: await loadPricer(settings),
    environment: {
      PATH: process.env['PATH'],
      HOME: home,
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      ANTHROPIC_BASE_URL: model.url(asked.mode),
      ANTHROPIC_API_KEY: 'sk-ant-api03-dummy',
      MODEL_KEY: 'dummy-key-of-some-length',
      ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
    },
    turnFolder: join(folder, 'turn'),
    turnEnvironment: {
      ERRAND_TOKEN: 'token-of-this-turn',
      ERRAND_TURN: mark,
      ERRAND_CONFIG: join(folder, 'budgets.json'),
      ERRAND_REPORT: join(folder, 'report.jsonl'),
    },
    binFolder: bin,
    cancel: new AbortController().signal,
    now: Date.now,
    onStarted: one => {
      started = one
    },
    onSeen: () => {},
    onEnding: async () => {},
  })()
  const ms = Math.round(performance.now() - startedAt)
  t.log(`${name} ${asked.mode}: ${ms} ms, ${model.asked()} requests, ${report.cost.microUsd} µ$ (${report.cost.basis})`)
  return { report, model, process: started, mark, ms, cwd }
}

/** The answer of a turn that has to have one. */
export const answerOf = (t: ExecutionContext, { report }: Ran): string => {
  if (E.isRight(report.outcome)) return report.outcome.right.text
  return t.fail(`${report.outcome.left.code}: ${report.outcome.left.sentence}`)
}

/** The code and the sentence of a turn that has to have failed. */
export const failureOf = (
  t: ExecutionContext,
  { report }: Ran,
): { readonly code: string; readonly sentence: string } => {
  if (E.isLeft(report.outcome)) return report.outcome.left
  return t.fail(`it answered: ${report.outcome.right.text}`)
}

let turns = 0

const settingsOf = async (
  name: CliName,
  url: string,
  cwd: string,
  more: Partial<EngineSettings> = {},
): Promise<EngineSettings> => {
  const engine = await loadEngine(name, cwd)()
  if (E.isLeft(engine)) throw new Error(engine.left)
  const provider = `{name="mock",base_url="${url}/v1",env_key="MODEL_KEY",wire_api="responses",stream_max_retries=0,request_max_retries=0}`
  return {
    engine: engine.right,
    cli: [await cliPath(name)],
    args: name === 'codex' ? ['-c', 'model_provider="mock"', '-c', `model_providers.mock=${provider}`] : [],
    cwd,
    model: name === 'codex' ? 'gpt-5' : 'claude-sonnet-4-5',
    env: name === 'codex' ? ['MODEL_KEY'] : [],
    timeoutMs: 120_000,
    graceMs: 2000,
    lineLimitBytes: 8 * 1024 ** 2,
    ...more,
  }
}
