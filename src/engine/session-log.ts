import type { EngineEvent } from './event.ts'
import type { JsonView } from './json-view.ts'

/** Where a CLI keeps its own account of a session, which is read when its output did not tell what a turn cost. */
export interface SessionLog {
  /** Absolute paths; `*` stands for any part of one name. Of several that match, all are read. Pure. */
  readonly files: (run: LoggedRun) => readonly string[]
  /** One record of such a file; `[]` for what is older than the run, and for what says nothing to us. */
  readonly decode: (record: JsonView, run: LoggedRun) => readonly EngineEvent[]
}

/** A run whose account is looked for. */
export interface LoggedRun {
  /** The provider's session, as its output told it; else the one that was asked for. */
  readonly session?: string
  /** The turn's own folder, where the CLI was told to write. */
  readonly folder: string
  readonly cwd: string
  /** The environment that the CLI had. */
  readonly environment: Readonly<Record<string, string>>
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
}
