import type { Budget, Limits } from '../budget/budget.ts'
import type { Access } from '../engine/engine.ts'
import type { Price } from '../engine/settings.ts'
import type { Failure } from '../protocol/failure.ts'

/** One instance as budgets.json has it: defaults filled in, paths absolute, nothing loaded yet. */
export interface InstanceConfig {
  readonly name: string
  /** A built-in engine's name, or the absolute path of an engine file. */
  readonly engine: string
  readonly description?: string
  readonly enabled: boolean
  readonly peers: readonly string[]
  readonly maxDepth: number
  readonly port: number
  readonly concurrency: number
  readonly queueLimit: number
  readonly queueTimeoutMs: number
  readonly maxTurnsPerRoot: number
  readonly limits: Limits
  /** The provider CLI, or the command of the `command` engine; `undefined` leaves it to the engine. */
  readonly cli: readonly string[] | undefined
  readonly args: readonly string[]
  readonly cwd: string
  readonly model?: string
  readonly access?: Access
  /** Absolute path. */
  readonly instructionsFile?: string
  readonly env: readonly string[]
  readonly price?: Price
  readonly timeoutMs: number
  readonly lineLimitBytes: number
}

/** budgets.json, decoded. */
export interface Config {
  /** Its real path. */
  readonly file: string
  readonly folder: string
  readonly stateFolder: string
  /** Whether the bus asks for a secret. */
  readonly secret: boolean
  readonly bodyLimitBytes: number
  /** The limit over all instances. */
  readonly total?: Budget
  readonly instances: ReadonlyMap<string, InstanceConfig>
  /** What is unwise but no mistake; whole sentences. */
  readonly warnings: readonly string[]
}

/** Everything that is wrong, each a sentence of its own; never empty. */
export type Mistakes = readonly Failure[]
