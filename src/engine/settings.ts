import type { MicroUsd } from '../protocol/money.ts'
import type { Access, Engine, Usage } from './engine.ts'

/** Micro-dollars for a usage, or `unknown` where no list has the model. */
export type PriceOf = (usage: Usage, model?: string) => MicroUsd | 'unknown'

/** `price` of an instance in `budgets.json`, in dollars. */
export type Price =
  | {
      readonly inputPerMTok: number
      readonly outputPerMTok: number
      readonly cachedInputPerMTok?: number
      readonly cacheWritePerMTok?: number
    }
  | { readonly perTurn: number }

/** What an instance says of its engine, loaded and made absolute. */
export interface EngineSettings {
  readonly engine: Engine
  /** The program and its leading arguments; a relative path was made absolute, a bare name is looked for on PATH. */
  readonly cli: readonly string[]
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly model?: string
  readonly access?: Access
  /** The text, not the path. */
  readonly instructions?: string
  /** Names of variables that are passed through on top of the allow-list. */
  readonly env: readonly string[]
  readonly price?: Price
  /** From spawn. */
  readonly timeoutMs: number
  /** From TERM to KILL. */
  readonly graceMs: number
  /** The longest record, in bytes. */
  readonly lineLimitBytes: number
}
