import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Basis } from '../../src/budget/budget.ts'
import { loadEngine } from '../../src/engine/load.ts'
import { loadPricer } from '../../src/engine/prices.ts'
import type { TurnReport } from '../../src/engine/report.ts'
import { run } from '../../src/engine/run.ts'
import type { Resume } from '../../src/engine/run-request.ts'
import type { EngineSettings } from '../../src/engine/settings.ts'
import { type ErrorCode, factsOf } from '../../src/protocol/error-codes.ts'

/** What has to become of one recorded scenario. */
export interface Expected {
  /** The answer: success. */
  readonly text?: string
  readonly code?: ErrorCode
  /** A part of the sentence. */
  readonly says?: string
  readonly retryable?: boolean
  readonly denied?: readonly string[]
  readonly session?: string
  readonly model?: string
  readonly tokens: number
  readonly cost: readonly [microUsd: number, basis: Basis]
  readonly settings?: Partial<EngineSettings>
  /** The session that the turn goes on with. */
  readonly resume?: Resume
  /** It opened another session than that. */
  readonly strayed?: true
  /** What the session has come to. */
  readonly total?: TurnReport['sessionTotal']
}

const fixtures = join(import.meta.dirname, '..', 'fixtures')

/** A test for every row, and one that every scenario in the folder has a row. */
export const testTranscripts = (engine: string, rows: Readonly<Record<string, Expected>>): void => {
  const folder = join(fixtures, 'transcripts', engine)
  const recorded = readdirSync(folder).flatMap(file => /^(.*)\.argv$/.exec(file)?.[1] ?? [])

  test('every recorded scenario is expected to end in some way', t => {
    const expected = new Set(Object.keys(rows).map(name => name.split(', ', 1)[0] ?? ''))
    t.deepEqual([...expected].sort(), recorded.toSorted())
  })

  for (const [name, expected] of Object.entries(rows)) {
    const [scenario = ''] = name.split(', ', 1)
    test(`as recorded: ${name}`, async t => {
      const cli = [process.execPath, join(fixtures, 'engines', 'replay.mjs'), join(folder, scenario)]
      const report = await turn(t, engine, { cli, ...expected.settings }, undefined, expected.resume)
      check(t, report, expected)
    })
  }
}

/** One turn through the whole of `run`. */
export const turn = async (
  t: ExecutionContext,
  name: string,
  more: Partial<EngineSettings> & Pick<EngineSettings, 'cli'>,
  prompt = 'Say hi',
  resume?: Resume,
): Promise<TurnReport> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-engine-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const engine = await loadEngine(name, import.meta.dirname)()
  if (E.isLeft(engine)) throw new Error(engine.left)
  const settings: EngineSettings = {
    engine: engine.right,
    args: [],
    cwd: folder,
    env: [],
    timeoutMs: 60_000,
    graceMs: 1000,
    lineLimitBytes: 8 * 1024 ** 2,
    ...more,
  }
  return run({
    settings,
    prompt,
    allowance: {},
    priceOf: await loadPricer(settings),
    environment: process.env,
    turnFolder: join(folder, 'turn'),
    turnEnvironment: {
      ERRAND_TURN: `replay-${process.pid}-${++turns}`,
      ERRAND_REPORT: join(folder, 'report.jsonl'),
      ERRAND_TOKEN: 'token-of-this-turn',
    },
    cancel: new AbortController().signal,
    now: Date.now,
    onStarted: () => {},
    onSeen: () => {},
    onEnding: async () => {},
    ...(resume === undefined ? {} : { resume }),
  })()
}

let turns = 0

const check = (t: ExecutionContext, report: TurnReport, expected: Expected): void => {
  const { outcome } = report
  const failed = E.isLeft(outcome) ? outcome.left : undefined
  t.is(failed?.code, expected.code, failed?.sentence)
  if (failed !== undefined) {
    t.true(failed.sentence.includes(expected.says ?? 'nothing was expected'), failed.sentence)
    t.is(factsOf(failed.code).retryable, expected.retryable === true)
  }
  t.is(E.isRight(outcome) ? outcome.right.text : undefined, expected.text)
  t.deepEqual(E.isRight(outcome) ? outcome.right.denied : undefined, expected.denied)
  t.is(report.session, expected.session)
  t.is(report.strayed, expected.strayed)
  t.is(report.model, expected.model)
  t.is(report.tokens, expected.tokens)
  if (expected.total !== undefined) t.deepEqual(report.sessionTotal, expected.total)
  t.deepEqual([report.cost.microUsd, report.cost.basis], [...expected.cost])
}
