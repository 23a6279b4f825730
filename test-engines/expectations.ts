import type { Allowance, Cost } from '../src/budget/budget.ts'
import type { ErrorCode } from '../src/protocol/error-codes.ts'
import type { ScenarioName } from './scenarios.ts'

/** What has to become of a turn; what is left out is not looked at. */
export interface Expected {
  /** The code of its failure; `answer` where it has none. */
  readonly outcome: ErrorCode | 'answer'
  /** At most this long, from spawn to report, and what a plain answer takes on this machine. */
  readonly withinMs: number
  readonly cost?: Cost
  readonly basis?: Cost['basis']
  readonly tokens?: number
  readonly model?: string
  readonly session?: RegExp
  /** It says when to come back, and no later than the provider did. */
  readonly comesBack?: boolean
  /** The file that the model asked for is there. */
  readonly made?: boolean
  /** What the turn may cost; half a dollar unless told. */
  readonly allowance?: Allowance
  /** The sentence that a person reads. */
  readonly sentence?: RegExp
}

export type Expectations = Readonly<Record<ScenarioName, Expected>>

/** What a plain answer of a CLI looks like: what 1200 and 34 tokens cost there, the model, the shape of a session's id. */
export type Plain = Required<Pick<Expected, 'cost' | 'model' | 'session'>>

// A cause, not a bare code.
const words = /[a-z]+ .*[a-z]+ .*[a-z]/i

/** What one expects of any CLI; the table of a CLI says where it differs, and why. */
export const usual = (plain: Plain): Expectations => {
  const answered: Expected = { outcome: 'answer', withinMs: 60_000, tokens: 1234, ...plain }
  const said: Expected = { outcome: 'answer', withinMs: 60_000, tokens: 1234, cost: plain.cost }
  const worked: Expected = { outcome: 'answer', withinMs: 60_000 }
  const free = { microUsd: 0, basis: 'none' } as const
  const refused = (outcome: ErrorCode, withinMs = 60_000): Expected => ({
    outcome,
    withinMs,
    cost: free,
    sentence: words,
  })
  return {
    'an answer': answered,
    'a prompt of 200 KB': said,
    'a prompt that looks like a flag': said,
    'a prompt that looks like a command': said,
    instructions: said,
    'long instructions': said,
    'not logged in': refused('auth', 40_000),
    'a refused key': refused('auth'),
    'a forbidden account': refused('auth'),
    'too many requests': refused('rate_limited'),
    'too many requests, and when to come back': { ...refused('rate_limited'), comesBack: true },
    'an exhausted quota': refused('quota_exhausted'),
    'a failing server': refused('engine_cli'),
    'a server out of service': refused('rate_limited'),
    'an overloaded model': refused('rate_limited'),
    'nobody listens': refused('engine_cli'),
    'an unknown model': refused('engine_cli'),
    'a session that is not there': refused('session_state'),
    'a session that is none': refused('session_state'),
    'a session goes on': said,
    'cancelled in mid-answer': { outcome: 'cancelled', withinMs: 45_000 },
    'time is up in mid-answer': { outcome: 'timeout', withinMs: 55_000 },
    'the hold is crossed in mid-turn': { outcome: 'budget_exhausted', withinMs: 60_000 },
    'read: its file tool': { ...worked, made: false },
    'read: its shell': { ...worked, made: false },
    'write: its file tool': { ...worked, made: true },
    'full: its shell': { ...worked, made: true },
    'full: its file tool': { ...worked, made: true },
    'the file system refuses': { outcome: 'write_permission', withinMs: 60_000 },
  }
}
