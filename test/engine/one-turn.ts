import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import type { Allowance } from '../../src/budget/budget.ts'
import type { Engine, EngineEvent } from '../../src/engine/engine.ts'
import type { TurnReport } from '../../src/engine/report.ts'
import { run } from '../../src/engine/run.ts'
import type { RunRequest } from '../../src/engine/run-request.ts'
import type { EngineSettings, PriceOf } from '../../src/engine/settings.ts'
import type { ProcessId } from '../../src/process/process-id.ts'

/** The path of a provider CLI that misbehaves. */
export const fake = (id: string): readonly string[] => [
  fileURLToPath(new URL(`../fixtures/fakes/${id}.mjs`, import.meta.url)),
]

/** A program written on the spot. */
export const script = (source: string): readonly string[] => [process.execPath, '-e', source]

export interface Asked {
  readonly engine: Engine
  readonly cli: readonly string[]
  readonly prompt?: string
  readonly settings?: Partial<EngineSettings>
  readonly allowance?: Allowance
  readonly priceOf?: PriceOf
  /** On top of PATH and HOME. */
  readonly environment?: Readonly<Record<string, string>>
  readonly mark?: string
  readonly turnFolder?: string
  readonly resume?: RunRequest['resume']
  readonly mcp?: RunRequest['mcp']
  readonly cancel?: AbortSignal
  readonly onStarted?: (process: ProcessId) => void
  readonly onSeen?: (microUsd: number, tokens: number) => void
  readonly onEnding?: () => Promise<void>
  readonly onEvent?: (event: EngineEvent) => void
  readonly idleTimeoutMs?: number
}

/** What came of it, flat, so that it can be compared; and how long it took. */
export interface Came extends TurnReport {
  readonly ms: number
  readonly text: string | undefined
  readonly code: string | undefined
  readonly sentence: string
  readonly mark: string
}

const folder = mkdtempSync(join(tmpdir(), 'errand-turn-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

let turns = 0

/** A path in a folder that is removed with this process. */
export const aPath = (name: string): string => join(folder, `${process.pid}-${++turns}-${name}`)

export const aMark = (): string => `mark-${process.pid}-${++turns}`

/** Dollars per million tokens, so that a step's price is easy to tell: 1 for input, 10 for output. */
export const simplePrice: PriceOf = ({ inputTokens, outputTokens }) => inputTokens + 10 * outputTokens

export const oneTurn = async (asked: Asked): Promise<Came> => {
  const { engine, cli, prompt = 'hi', settings, allowance = {}, environment, mark = aMark() } = asked
  const begun = performance.now()
  const report = await run({
    settings: {
      engine,
      cli,
      args: [],
      cwd: folder,
      env: ['FAKE_*'],
      timeoutMs: 60_000,
      graceMs: 5000,
      lineLimitBytes: 8 * 1024 * 1024,
      ...settings,
    },
    prompt,
    allowance,
    priceOf: asked.priceOf ?? simplePrice,
    environment: { PATH: process.env['PATH'], HOME: folder, ...environment },
    turnFolder: asked.turnFolder ?? aPath('turn'),
    ...(asked.resume === undefined ? {} : { resume: asked.resume }),
    ...(asked.mcp === undefined ? {} : { mcp: asked.mcp }),
    turnEnvironment: {
      ERRAND_TOKEN: 'turn-token-0123456789',
      ERRAND_TURN: mark,
      ERRAND_CONFIG: join(folder, 'budgets.json'),
      ERRAND_REPORT: aPath('report.jsonl'),
    },
    cancel: asked.cancel ?? new AbortController().signal,
    now: Date.now,
    onStarted: asked.onStarted ?? (() => undefined),
    onSeen: asked.onSeen ?? (() => undefined),
    ...(asked.onEvent === undefined ? {} : { onEvent: asked.onEvent }),
    ...(asked.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: asked.idleTimeoutMs }),
    onEnding: asked.onEnding ?? (async () => undefined),
  })()
  const { outcome } = report
  return {
    ...report,
    ms: performance.now() - begun,
    text: E.isRight(outcome) ? outcome.right.text : undefined,
    code: E.isLeft(outcome) ? outcome.left.code : undefined,
    sentence: E.isLeft(outcome) ? outcome.left.sentence : '',
    mark,
  }
}

/** Waits until something holds, for at most 20 s: the tests' own limit, not a guess at how long it takes. */
export const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error('What was waited for did not come.')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** What a fake wrote to its FAKE_LOG. */
export const logged = (path: string): readonly Record<string, unknown>[] => {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map((line): Record<string, unknown> => JSON.parse(line))
  } catch {
    return []
  }
}

/** Runs no more, as far as this process can tell: no such pid, or a zombie. */
export const isGone = (pid: unknown): boolean => {
  try {
    return (
      readFileSync(`/proc/${Number(pid)}/stat`, 'latin1')
        .split(') ')[1]
        ?.startsWith('Z') ?? true
    )
  } catch {
    return true
  }
}
