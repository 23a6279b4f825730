import type * as E from 'fp-ts/lib/Either.js'
import type { Cost } from '../budget/budget.ts'
import type { Failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { Answer } from './engine.ts'

/**
 * What became of a turn. Outcome and cost travel together, so that a settle is reached on every path; nothing outside
 * `engine/` may assume that a turn was a process.
 */
export interface TurnReport {
  readonly outcome: E.Either<Failure, Answer>
  readonly cost: Cost
  /** All tokens seen, input and output together. */
  readonly tokens: number
  readonly model?: string
  readonly session?: string
  /** What the session has come to, where the CLI tells running totals: the next turn on it is counted from there. */
  readonly sessionTotal?: { readonly microUsd?: MicroUsd; readonly tokens?: number }
  /** It was to go on with a session, and the CLI opened another one without a word. */
  readonly strayed?: true
  /** What it had said so far, when it was ended by us. */
  readonly partialText?: string
}
