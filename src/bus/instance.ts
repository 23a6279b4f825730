import type { Limits } from '../budget/budget.ts'
import type { EngineSettings } from '../engine/settings.ts'

/** An instance that others may ask, as they are told of it. */
export interface Askable {
  readonly name: string
  readonly maxDepth: number
  readonly description?: string
}

/** One instance of `budgets.json`, decoded, loaded, with every default filled in. */
export interface Instance {
  readonly name: string
  readonly description?: string
  readonly enabled: boolean
  /** Who may talk to it; `*` is anyone. */
  readonly peers: readonly string[]
  /** Whom its agent is told that it may ask; absent, nobody. */
  readonly asks?: readonly Askable[]
  /** The deepest talk accepted. */
  readonly maxDepth: number
  /** The port asked for; 0 is any. */
  readonly port: number
  /** Turns at once. */
  readonly concurrency: number
  /** Talks that may wait. */
  readonly queueLimit: number
  readonly queueTimeoutMs: number
  readonly maxTurnsPerRoot: number
  /** How long a turn may say nothing outside of a tool call; absent, as long as its `timeoutMs`. */
  readonly idleTimeoutMs?: number
  readonly limits: Limits
  readonly settings: EngineSettings
}
