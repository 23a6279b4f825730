import type { Allowance } from '../budget/budget.ts'
import type { ProcessId } from '../process/process-id.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { EngineEvent, McpServer } from './engine.ts'
import type { EngineSettings, PriceOf } from './settings.ts'

/** A provider's session that a turn goes on with, and what it had come to when the turn before ended, where that is known. */
export interface Resume {
  readonly session: string
  readonly totalMicroUsd?: MicroUsd
  readonly totalTokens?: number
}

/** Whether the CLI opened another session than the one that it was to go on with. */
export const hasStrayed = (resume: Resume | undefined, opened: string | undefined): boolean =>
  resume !== undefined && opened !== undefined && opened !== resume.session

/** One turn to run, and who wants to hear of it. */
export interface RunRequest {
  readonly settings: EngineSettings
  readonly prompt: string
  readonly resume?: Resume
  /** Handed to engines that take it. */
  readonly mcp?: McpServer
  /** Absolute; made when the turn starts, and removed when it was judged. */
  readonly turnFolder: string
  readonly allowance: Allowance
  readonly priceOf: PriceOf
  /** The environment of the host; the child gets what the allow-list lets through. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What the turn itself adds: ERRAND_TOKEN, ERRAND_TURN (the mark), ERRAND_CONFIG, ERRAND_REPORT. */
  readonly turnEnvironment: Readonly<Record<string, string>> & {
    readonly ERRAND_TURN: string
    readonly ERRAND_REPORT: string
  }
  /** Leads the child's PATH. */
  readonly binFolder?: string
  /** Aborted: the turn is ended, with the reason of the abort, a `Failure`, as its outcome. */
  readonly cancel: AbortSignal
  /** The process runs. */
  readonly onStarted: (process: ProcessId) => void
  /** What it has spent so far, each time that it grows. */
  readonly onSeen: (microUsd: MicroUsd, tokens: number) => void
  /** Milliseconds since 1970, to read "resets at" by. */
  readonly now: () => number
  /**
   * Each event, in its order, once it is counted: for whoever watches the turn. An engine whose stdout is its answer says that
   * as it comes. Must not throw.
   */
  readonly onEvent?: (event: EngineEvent) => void
  /** Ends a turn that says nothing for so long and is in no tool call; absent, silence ends nothing. */
  readonly idleTimeoutMs?: number
  /** Called before our first signal, which waits for it (at most a second). */
  readonly onEnding: () => Promise<void>
}
