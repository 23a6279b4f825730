import type { Ledger } from '../budget/ledger.ts'
import type { Stopwatch } from '../process/stopwatch.ts'
import type { Failure } from '../protocol/failure.ts'

/** One line of the log: an event's name and its facts, which are flat; never a prompt, an answer, a secret or a token. */
export type Log = (
  event: string,
  facts?: Readonly<Record<string, string | number | boolean | undefined>>,
  level?: 'debug' | 'info' | 'warn' | 'error',
) => void

/** A talk that waits or runs in this process, and the way to end it. */
export interface LiveTalk {
  readonly turn: string
  readonly instance: string
  readonly end: (why: Failure) => void
  /** Whether anybody waits for it at present; set where several may. */
  readonly waitedFor?: () => boolean
  /** Resolves when it neither waits nor runs any more, and its row says so. */
  readonly over: Promise<void>
  /** Absent while it waits. */
  ranForMs?: Stopwatch
}

/** What the instances of one process share. */
export interface Host {
  /** This process, as `hosts.owner` in the store. */
  readonly owner: string
  readonly ledger: Ledger
  /** The bus secret; `undefined` where `"secret": false` says to run without one. */
  readonly secret: string | undefined
  /** Whether the process behind a `hosts.owner` lives. */
  readonly ownerLives: (owner: string) => Promise<boolean>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The real path of budgets.json. */
  readonly configFile: string
  /** Where the `errand` command lies; leads the PATH of every turn. */
  readonly binFolder: string
  /** Where turns leave their reports; exists, mode 0700. */
  readonly reportFolder: string
  readonly bodyLimitBytes: number
  /** How long a talk with an idempotency key goes on once nobody waits for it. */
  readonly keyedPatienceMs: number
  /** By turn; empty at first. */
  readonly live: Map<string, LiveTalk>
  /** Turns whose cost could not be written yet; while there are any, new talks are refused. Empty at first. */
  readonly unsettled: Set<string>
  readonly now: () => number
  readonly log: Log
}
