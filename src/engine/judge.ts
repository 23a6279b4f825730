import * as E from 'fp-ts/lib/Either.js'
import type { Failure } from '../protocol/failure.ts'
import { costOf } from './cost.ts'
import type { Ending } from './ending.ts'
import type { Guarded } from './guarded.ts'
import type { Hearing } from './hearing.ts'
import { outcomeOf } from './outcome.ts'
import type { TurnReport } from './report.ts'
import type { RunRequest } from './run-request.ts'
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
  readonly hearing: Hearing
  /** Its tail. */
  readonly stderr: string
  readonly ending: Ending
}

/** What became of it, and what it cost. */
export const judge = ({ request, engine, environment, exit, tally, hearing, stderr, ending }: Over): TurnReport => {
  const { settings, now } = request
  const { output } = settings.engine
  const seen = tally.seen()
  const spend = tally.spend()
  const fault = hearing.fault()
  const result = seen.result
  const said = output === 'text' ? hearing.text() : seen.lastText
  const cut = ending.signalled()
  const ours = cut && !hearing.resultInTime() ? ending.reasons() : {}

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
    ...{ ours, ...fault, ...exit, said, output, denied: seen.denied, classify },
    ...(result === undefined ? {} : { result }),
    ...(settings.access === undefined ? {} : { access: settings.access }),
  })
  const endedByItself = !cut && exit.signal === undefined && fault.tooLong === undefined && fault.broken === undefined
  const cost = costOf(spend, settings, {
    started: true,
    complete: result !== undefined || endedByItself,
    success: E.isRight(outcome),
  })
  const model = seen.model ?? settings.model
  const partial = (output === 'text' ? said : seen.text).slice(-partialChars)
  return {
    outcome: E.isLeft(outcome) ? E.left(scrubbed(outcome.left, scrubOf(environment))) : outcome,
    cost,
    tokens: spend.tokens,
    ...(model === undefined ? {} : { model }),
    ...(seen.session === undefined ? {} : { session: seen.session }),
    ...(E.isLeft(outcome) && cut && partial !== '' ? { partialText: partial } : {}),
  }
}

const partialChars = 64 * 1024
