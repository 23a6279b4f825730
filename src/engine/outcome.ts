import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Access, Answer, EngineEvent } from './engine.ts'

/** Why we ended a turn; several may have come together. `stuck`: the CLI would not have got over it, and its cause is known. */
export type Reason = 'cancelled' | 'overspent' | 'stuck' | 'timedOut'

/** All that bears on what became of a turn. */
export interface Evidence {
  /** Ours, and only those whose first signal came before a complete final result was on the stream. */
  readonly ours: Readonly<Partial<Record<Reason, Failure>>>
  readonly notStarted?: Failure
  /** The engine's own fault: it threw, or answered in another shape. */
  readonly broken?: Failure
  /** The final result on the stream. */
  readonly result?: Extract<EngineEvent, { kind: 'result' }>
  /** A record passed the limit before there was a final result. */
  readonly tooLong?: Failure
  readonly exitCode?: number
  readonly signal?: string
  /** The answer of an engine that has no final result (`text`), or whose result has no text. */
  readonly said?: string
  /** What was said is not whole: a record was damaged on its way. */
  readonly torn?: boolean
  readonly output: 'json' | 'text'
  readonly denied: readonly string[]
  readonly access?: Access
  /** Asked only when the CLI itself failed. */
  readonly classify: () => Failure
}

/** Which cause wins. */
export const outcomeOf = (evidence: Evidence): E.Either<Failure, Answer> => {
  const { ours, notStarted, broken, result, tooLong } = evidence
  const first = ours.cancelled ?? ours.overspent ?? ours.stuck ?? ours.timedOut ?? notStarted ?? broken
  if (first !== undefined) return E.left(first)
  if (result !== undefined) return result.ok ? answer(result.text, evidence) : E.left(evidence.classify())
  if (tooLong !== undefined) return E.left(tooLong)
  if (evidence.exitCode !== 0 || evidence.signal !== undefined) return E.left(evidence.classify())
  return evidence.output === 'text' ? answer('', evidence) : E.left(evidence.classify())
}

const answer = (text: string, { said = '', torn, denied, access }: Evidence): E.Either<Failure, Answer> => {
  const hasOwnText = text.trim() !== ''
  const full = hasOwnText ? text : said
  if (denied.length > 0 && access !== 'read') return E.left(refusedTo(denied))
  if (torn === true && !hasOwnText)
    return E.left(failure('engine_cli', 'A record of the answer was damaged on its way.'))
  if (full.trim() === '') return E.left(failure('engine_cli', 'The CLI ended without an answer.'))
  return E.right(denied.length > 0 ? { text: full, denied } : { text: full })
}

const refusedTo = (denied: readonly string[]): Failure =>
  failure(
    'write_permission',
    `The CLI was not allowed to: ${[...new Set(denied)].join(', ')}. Give the instance "access": "write", or "read" if it need not write.`,
  )
