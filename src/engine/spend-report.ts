import { closeSync, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { EngineEvent } from './engine.ts'

/** The file (ERRAND_REPORT) in which a command tells what it spends while it runs. */
export interface SpendReport {
  /** Tells of each line that is appended, soon after it was. */
  readonly follow: (tell: (events: readonly EngineEvent[]) => void) => void
  /** Reads what is left, also a last line without its end, and removes the file. */
  readonly close: () => void
}

/**
 * Makes the file, empty and for this user alone. Its lines are `{"usd":0.01,"tokens":1200,"model":"…"}`, each an addition;
 * one that cannot be read stands for a cost that nobody knows.
 */
export const openSpendReport = (path: string): E.Either<Failure<'internal_error'>, SpendReport> =>
  pipe(
    E.tryCatch(
      () => openSync(path, 'wx+', 0o600),
      error => failure('internal_error', `The report of a turn cannot be made: ${said(error)}.`),
    ),
    E.map(file => reader(path, file)),
  )

const reader = (path: string, file: number): SpendReport => {
  const buffer = Buffer.allocUnsafe(readBytes)
  let position = 0
  let line = Buffer.alloc(0)
  let tell: (events: readonly EngineEvent[]) => void = () => undefined
  let poll: NodeJS.Timeout | undefined

  const readOn = (passes: number): void => {
    for (let pass = 0; pass < passes && position < reportBytes; pass++) {
      const count = attempt(() => readSync(file, buffer, 0, readBytes, position)) ?? 0
      if (count === 0) return
      position += count
      const text = Buffer.concat([line, buffer.subarray(0, count)])
      const end = text.lastIndexOf(0x0a) + 1
      // A line that never ends is not kept: what stands for it is no JSON, and so counts as unknown.
      line = text.length - end > lineBytes ? Buffer.from('?') : text.subarray(end)
      tellLines(text.toString('utf8', 0, end))
    }
  }

  const tellLines = (text: string): void => {
    for (const each of text.split('\n')) if (each.trim() !== '') tell(eventsOf(each))
  }

  // One that was replaced, removed or cut short, or is too long, has told something that was never read.
  const isWhole = (): boolean => {
    const [ours, there] = [attempt(() => fstatSync(file)), attempt(() => statSync(path))]
    return ours !== undefined && ours.ino === there?.ino && ours.dev === there.dev && ours.size === position
  }

  return {
    follow: listener => {
      tell = listener
      poll = setInterval(() => readOn(4), pollMs).unref()
    },
    close: () => {
      clearInterval(poll)
      readOn(reportBytes / readBytes)
      tellLines(line.toString('utf8'))
      if (!isWhole()) tell([nobodyKnows])
      attempt(() => closeSync(file))
      attempt(() => rmSync(path, { force: true, recursive: true }))
    },
  }
}

const pollMs = 200
const readBytes = 64 * 1024
const lineBytes = 64 * 1024
// Some ten thousand lines. To read more at once would keep all others waiting.
const reportBytes = 1024 * 1024

const nobodyKnows: EngineEvent = { kind: 'cost', scope: 'step', usd: Number.NaN }

const addition = t.partial({ usd: t.unknown, tokens: t.number, model: t.string })

const eventsOf = (line: string): readonly EngineEvent[] =>
  pipe(
    E.tryCatch((): unknown => JSON.parse(line), said),
    E.chainW(json => decode(addition, json)),
    E.match(
      (): readonly EngineEvent[] => [nobodyKnows],
      ({ usd, tokens, model }) => [
        ...(model === undefined ? [] : [{ kind: 'model' as const, model }]),
        ...(usd === undefined ? [] : [{ kind: 'cost' as const, scope: 'step' as const, usd }]),
        ...(tokens === undefined ? [] : [usageOf(tokens)]),
      ],
    ),
  )

// The file knows no kinds of tokens; input is the cheaper guess, and used only where no dollars are told.
const usageOf = (tokens: number): EngineEvent => ({
  kind: 'usage',
  scope: 'step',
  usage: { inputTokens: tokens, outputTokens: 0 },
})

const attempt = <A>(action: () => A): A | undefined => {
  try {
    return action()
  } catch {
    return undefined
  }
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error))
