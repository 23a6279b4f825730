import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import type { Guarded } from './guarded.ts'
import type { RunRequest } from './run-request.ts'
import type { SpendReport } from './spend-report.ts'

/** A process that has just been started, and what it was started for. */
export interface Started {
  readonly request: RunRequest
  readonly engine: Guarded
  readonly environment: Readonly<Record<string, string>>
  readonly child: { readonly nodeChildProcess: EventEmitter; readonly stdout: Readable; readonly stderr: Readable }
  readonly pid: number
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly report: SpendReport | undefined
}
