import type { Budget } from '../budget/budget.ts'
import type { Instance } from '../bus/instance.ts'
import type { EngineSettings } from '../engine/settings.ts'
import type { Failure } from '../protocol/failure.ts'

type Settled = 'args' | 'cwd' | 'model' | 'access' | 'env' | 'price' | 'timeoutMs' | 'lineLimitBytes'

/** One instance as budgets.json has it: defaults filled in, paths absolute, nothing loaded yet. */
export interface InstanceConfig extends Omit<Instance, 'settings' | 'asks'>, Pick<EngineSettings, Settled> {
  /** Whether its agent is told whom it may ask, and given the means. */
  readonly delegates: boolean
  /** A built-in engine's name, or the absolute path of an engine file. */
  readonly engine: string
  /** The provider CLI, or the command of the `command` engine; `undefined` leaves it to the engine. */
  readonly cli: readonly string[] | undefined
  /** Absolute path. */
  readonly instructionsFile?: string
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
