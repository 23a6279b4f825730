import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Budget, Limits } from '../budget/budget.ts'
import type { Access } from '../engine/engine.ts'
import type { Price } from '../engine/settings.ts'
import { decode } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { type BudgetsText, budgetsFile } from './codec.ts'
import { budgetOf, fillInstance } from './fill.ts'
import { readJsonText } from './json-text.ts'
import { sizeBytes } from './quantity.ts'
import { stateFolderOf } from './state-folder.ts'
import { sayMistake } from './strict.ts'
import type { Surroundings } from './surroundings.ts'
import { warningsOf } from './warnings.ts'

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

/** The text of the file whose real path is `file`, as a `Config`, or all that is wrong with it. Pure. */
export const decodeConfig = (
  content: string,
  file: string,
  where: Pick<Surroundings, 'environment'>,
): E.Either<Mistakes, Config> =>
  pipe(
    readJsonText(content),
    E.mapLeft(fault => [
      failure('invalid_request', `${file}, line ${fault.line}, column ${fault.column}: ${fault.what}.`),
    ]),
    E.chain(json => decodeBudgets(json, file)),
    E.map(budgets => fillConfig(budgets, file, where)),
  )

/** `label` is what a mistake is said to stand in. */
export const decodeBudgets = (json: unknown, label: string): E.Either<Mistakes, BudgetsText> =>
  pipe(
    decode(budgetsFile, json),
    E.mapLeft(wrong => wrong.map(one => failure('invalid_request', `${label}: ${sayMistake(one)}`))),
  )

const defaultBodyLimitBytes = 1024 ** 2

export const fillConfig = (budgets: BudgetsText, file: string, where: Pick<Surroundings, 'environment'>): Config => {
  const folder = path.dirname(file)
  const total = budgets.budget === undefined ? undefined : budgetOf(budgets.budget)
  const config = {
    file,
    folder,
    stateFolder: stateFolderOf(file, budgets.bus?.stateDir, where),
    secret: budgets.bus?.secret ?? true,
    bodyLimitBytes: sizeBytes(budgets.bus?.bodyLimit) ?? defaultBodyLimitBytes,
    ...(total === undefined ? {} : { total }),
    instances: new Map(
      [...budgets.instances].map(([name, text]) => [name, fillInstance(name, text, folder, total)] as const),
    ),
  }
  return { ...config, warnings: warningsOf(config) }
}
