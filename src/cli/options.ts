import type { Common } from './terminal.ts'

export interface TalkOptions extends Common {
  readonly from?: string
  readonly depth?: number
  readonly timeout?: string
  readonly retry?: number
  readonly thread?: string
  readonly cwd?: string
  readonly dryRun?: boolean
  readonly follow?: boolean
}

export interface UpOptions extends Common {
  readonly takeOver?: boolean
}

export interface LogOptions extends Common {
  readonly text?: boolean
  readonly limit: number
}

export interface CheckOptions extends Common {
  readonly from?: string
  readonly to?: string
  readonly depth?: number
}

export interface DoctorOptions extends Common {
  readonly fix?: boolean
}

export interface InitOptions extends Common {
  readonly force?: boolean
}
