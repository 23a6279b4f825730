import type { Common } from './terminal.ts'

export interface TalkOptions extends Common {
  readonly from?: string
  readonly depth?: number
  readonly timeout?: string
  readonly retry?: number
  readonly cwd?: string
  readonly dryRun?: boolean
}

export interface LogOptions extends Common {
  readonly text?: boolean
  readonly limit: number
}
