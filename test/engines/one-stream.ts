import * as E from 'fp-ts/lib/Either.js'
import type { Ending } from '../../src/engine/ending.ts'
import { guarded } from '../../src/engine/guarded.ts'
import { hear } from '../../src/engine/hearing.ts'
import { judge } from '../../src/engine/judge.ts'
import { linesOf } from '../../src/engine/lines.ts'
import { loadEngine } from '../../src/engine/load.ts'
import { tail } from '../../src/engine/noise.ts'
import type { TurnReport } from '../../src/engine/report.ts'
import type { RunRequest } from '../../src/engine/run-request.ts'
import type { Exit } from '../../src/engine/streams.ts'
import { tallyOf } from '../../src/engine/tally.ts'

/** What a CLI printed, and how it ended by itself. */
export interface Printed {
  readonly stdout: Buffer
  readonly stderr?: Buffer
  readonly exit: Exit
}

/** What came of it: the answer, or the code and the sentence of a failure; and what it cost. */
export type Judged = { readonly report: TurnReport } & (
  | { readonly text: string }
  | { readonly code: string; readonly sentence: string }
)

/** Judges streams as a turn does, without a process: the same reading, counting and judging. */
export const judgeOf = async (name: string): Promise<(printed: Printed) => Promise<Judged>> => {
  const loaded = await loadEngine(name, '/')()
  if (E.isLeft(loaded)) throw new Error(loaded.left)
  const request = requestOf(loaded.right)
  const engine = guarded(loaded.right)

  return async ({ stdout, stderr = Buffer.alloc(0), exit }) => {
    const tally = tallyOf(request.priceOf)
    const hearing = hear(request.settings, engine, { ...nobody, event: tally.add })
    const errors = tail()
    const errorLines = linesOf(hearing.errorLine)
    for (const chunk of chunksOf(stderr)) {
      errors.add(chunk)
      errorLines.push(chunk)
    }
    for (const chunk of chunksOf(stdout)) hearing.push(chunk)
    await hearing.end()
    errorLines.end()
    const over = { request, engine, environment: {}, exit, tally, hearing, stderr: errors.text(), ending: leftAlone }
    const report = judge(over)
    const { outcome } = report
    return E.isRight(outcome)
      ? { report, text: outcome.right.text }
      : { report, code: outcome.left.code, sentence: outcome.left.sentence }
  }
}

const requestOf = (engine: RunRequest['settings']['engine']): RunRequest => ({
  settings: {
    ...{ engine, cli: ['none'], args: [], cwd: '/', env: [] },
    ...{ timeoutMs: 60_000, graceMs: 1000, lineLimitBytes: 8 * 1024 ** 2 },
  },
  prompt: 'Say hi',
  turnFolder: '/none',
  allowance: {},
  // Dollars per million tokens: 1 for input, 10 for output.
  priceOf: ({ inputTokens, outputTokens }) => inputTokens + 10 * outputTokens,
  environment: {},
  turnEnvironment: { ERRAND_TURN: 'mark', ERRAND_REPORT: '/none' },
  cancel: new AbortController().signal,
  now: () => Date.UTC(2026, 0, 1),
  onStarted: () => {},
  onSeen: () => {},
  onEnding: async () => {},
})

const nobody = {
  ...{ heard: () => {}, record: () => {}, noise: () => {}, fault: () => {}, result: () => {}, busy: () => {} },
  isLate: () => false,
}

const leftAlone: Ending = {
  ...{ begin: () => {}, signalled: () => false, reasons: () => ({}), done: () => undefined },
  gaveUp: new Promise(() => {}),
}

// As a pipe gives it out, at its largest.
const chunksOf = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, n) => bytes.subarray(n * 65_536, (n + 1) * 65_536))
