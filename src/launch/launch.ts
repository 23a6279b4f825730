import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Mistakes } from './config.ts'
import type { State } from './state.ts'

/** An instance that listens, here or in another process. */
export interface Running {
  readonly name: string
  readonly engine: string
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly pid: number
}

/** Instances that this process hosts. */
export interface Hosted {
  readonly instances: readonly Running[]
  /** What is unwise but no mistake; whole sentences. */
  readonly warnings: readonly string[]
  /** Resolves when nothing runs or waits on any of them. */
  readonly idle: () => Promise<void>
  /** Withdraws the entries, refuses new talks, lets turns end within `graceMs`, ends them, settles. Twice is once. */
  readonly stop: (graceMs: number) => Promise<void>
  /** Resolves when all are stopped: by `stop`, or since `errand stop` asked for each of them. */
  readonly stopped: Promise<void>
}

export interface LaunchOptions {
  /** Hosts these; an instance of another process is a mistake. Without it, every enabled instance. */
  readonly only?: readonly string[]
  /** Log lines go to stderr too. */
  readonly verbose?: boolean
}

/** Checks everything first and tells all that is wrong at once; nothing half done. `errand up`. */
export const launchHere = (_state: State, _options: LaunchOptions): TE.TaskEither<Mistakes, Hosted> => {
  throw new Error('not built yet')
}
