import type { Ledger } from '../budget/ledger.ts'

/** One line of the log: an event's name and its facts; never a prompt, an answer, a secret or a token. */
export type Log = (
  event: string,
  facts?: Readonly<Record<string, unknown>>,
  level?: 'debug' | 'info' | 'warn' | 'error',
) => void

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
  readonly now: () => number
  readonly log: Log
}
