import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { ensureStateFolder } from '../store/state-folder.ts'
import type { BudgetsText, InstanceText } from './codec.ts'
import type { Config, Mistakes } from './config.ts'
import { decodeBudgets, fillConfig } from './decode-config.ts'
import { fromFolder } from './fill.ts'
import type { Surroundings } from './surroundings.ts'
import { isEngineFile } from './warnings.ts'

/** The content of a budgets.json as an object. */
export interface BudgetsJson extends Omit<BudgetsText, 'instances'> {
  readonly instances: Readonly<Record<string, InstanceText>>
}

/**
 * An object stands for the budgets.json of the folder that the script runs in: paths begin there, and so does the state
 * folder. Turns must be able to read it too, so it is kept as a file (`keep`) once the state folder exists.
 */
export const configOfObject = (
  object: unknown,
  where: Surroundings,
): E.Either<Mistakes, { readonly config: Config; readonly keep: TE.TaskEither<Failure, void> }> =>
  pipe(
    decodeBudgets(object, 'the config object'),
    E.map(budgets => {
      const config = fillConfig(budgets, path.join(where.folder, 'budgets.json'), where)
      const content = JSON.stringify(anchored(budgets, config), null, 2)
      const name = `${createHash('sha256').update(content).digest('hex').slice(0, 16)}.json`
      const file = path.join(config.stateFolder, 'launched', name)
      return { config: { ...config, file }, keep: write(file, content) }
    }),
  )

/** The same wherever it is read from. */
const anchored = (budgets: BudgetsText, { folder, stateFolder }: Config): BudgetsJson => ({
  ...budgets,
  bus: { ...budgets.bus, stateDir: stateFolder },
  instances: Object.fromEntries([...budgets.instances].map(([name, text]) => [name, anchor(text, folder)])),
})

const anchor = (text: InstanceText, folder: string): InstanceText => ({
  ...text,
  engine: isEngineFile(text.engine) ? path.resolve(folder, text.engine) : text.engine,
  cwd: path.resolve(folder, text.cwd ?? '.'),
  ...(text.cli === undefined ? {} : { cli: fromFolder(typeof text.cli === 'string' ? [text.cli] : text.cli, folder) }),
  ...(text.command === undefined ? {} : { command: fromFolder(text.command, folder) }),
  ...(text.instructions === undefined ? {} : { instructions: path.resolve(folder, text.instructions) }),
})

const write = (file: string, content: string): TE.TaskEither<Failure, void> =>
  pipe(
    TE.fromEither(ensureStateFolder(path.dirname(file))),
    TE.chain(() =>
      TE.tryCatch(
        () => writeFile(file, content, { mode: 0o600 }),
        (error): Failure => failure('write_permission', `The state folder cannot be written: ${String(error)}.`),
      ),
    ),
  )
