import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { decode } from '../protocol/decode.ts'
import { failure } from '../protocol/failure.ts'
import { type BudgetsText, budgetsFile } from './codec.ts'
import type { Config, Mistakes } from './config.ts'
import { budgetOf, fillInstance } from './fill.ts'
import { readJsonText } from './json-text.ts'
import { sizeBytes } from './quantity.ts'
import { stateFolderOf } from './state-folder.ts'
import { sayMistake } from './strict.ts'
import type { Surroundings } from './surroundings.ts'
import { warningsOf } from './warnings.ts'

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
