import * as E from 'fp-ts/lib/Either.js'
import type { Failure } from '../protocol/failure.ts'
import { accountOf, costOf, wantsLog } from './cost.ts'
import type { Ending } from './ending.ts'
import type { Guarded } from './guarded.ts'
import type { Hearing } from './hearing.ts'
import { outcomeOf } from './outcome.ts'
import type { TurnReport } from './report.ts'
import { hasStrayed, type RunRequest } from './run-request.ts'
import { scrubbed, scrubOf } from './sentence.ts'
import type { Exit } from './streams.ts'
import type { Tally } from './tally.ts'

/** A turn that is over, with all that was heard of it. */
export interface Over {
  readonly request: RunRequest
  readonly engine: Guarded
  readonly environment: Readonly<Record<string, string>>
  readonly exit: Exit
  readonly tally: Tally
  /** What the session's log told, where it was read. */
  readonly logged?: Tally
  readonly hearing: Hearing
  /** Its tail. */
  readonly stderr: string
  readonly ending: Ending
}

/** What became of it, and what it cost. */
export const judge = (over: Over): TurnReport => {
  const { request, engine, environment, exit, tally, logged, hearing, stderr, ending } = over
  const { settings, now } = request
  const { output } = settings.engine
  const seen = tally.seen()
  const { spend, whole } = accountOf(tally.spend(), logged?.spend())
  const fault = hearing.fault()
  const result = resultOf(over)
  const said = output === 'text' ? hearing.text() : seen.lastText
  const cut = ending.signalled()
  const ours = oursOf(over)

  const classify = (): Failure =>
    engine.classify(
      {
        ...(result?.ok === false ? { result } : {}),
        ...(seen.retry === undefined ? {} : { retry: seen.retry }),
        ...exit,
        noise: hearing.noise(),
        stderr,
      },
      now(),
    )
  const outcome = outcomeOf({
    ...{ ours, ...fault, ...exit, said, torn: hearing.answerTorn(), output, denied: seen.denied, classify },
    ...(result === undefined ? {} : { result }),
    ...(settings.access === undefined ? {} : { access: settings.access }),
  })
  const cost = costOf(spend, settings, {
    started: true,
    complete: isComplete(over) || whole,
    success: E.isRight(outcome),
  })
  const model = seen.model ?? logged?.seen().model ?? settings.model
  const session = seen.session ?? logged?.seen().session
  const partial = (output === 'text' ? said : seen.text).slice(-partialChars)
  return {
    outcome: E.isLeft(outcome) ? E.left(scrubbed(outcome.left, scrubOf(environment))) : outcome,
    cost,
    tokens: spend.tokens,
    ...(model === undefined ? {} : { model }),
    ...(session === undefined ? {} : { session }),
    ...(spend.sessionTotal === undefined ? {} : { sessionTotal: spend.sessionTotal }),
    ...(hasStrayed(request.resume, session) ? { strayed: true } : {}),
    ...(E.isLeft(outcome) && cut && partial !== '' ? { partialText: partial } : {}),
  }
}

/** Whether to read the session's log before a turn is judged: it could tell more than the CLI printed. */
export const needsLog = (over: Over): boolean => wantsLog(over.tally.spend(), { complete: isComplete(over) })

const partialChars = 64 * 1024

const oursOf = ({ ending, hearing }: Over): ReturnType<Ending['reasons']> =>
  ending.signalled() && !hearing.resultInTime() ? ending.reasons() : {}

// After a step that may go on, a CLI that was cut may have been in the middle of the next one.
const resultOf = ({ tally, ending, exit }: Over): ReturnType<Tally['seen']>['result'] => {
  const { result } = tally.seen()
  return result?.mayGoOn === true && (ending.signalled() || exit.signal !== undefined) ? undefined : result
}

// One that is stuck waits for an answer that nobody gives: what it asked last was refused, and cost nothing.
const isComplete = (over: Over): boolean => {
  const { tooLong, broken } = over.hearing.fault()
  const isCut =
    over.ending.signalled() || over.exit.signal !== undefined || tooLong !== undefined || broken !== undefined
  return !isCut || resultOf(over) !== undefined || oursOf(over).stuck !== undefined
}
