import { access, readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { failure } from '../protocol/failure.ts'
import type { Config, Mistakes } from './config.ts'
import { decodeConfig } from './decode-config.ts'
import type { Surroundings } from './surroundings.ts'
import { whyUnreadable } from './why-unreadable.ts'

const fileName = 'budgets.json'

/** Finds budgets.json (`flag`, else ERRAND_CONFIG, else upward from the folder), reads and decodes it; loads no engine. */
export const readConfig = (flag: string | undefined, where: Surroundings): TE.TaskEither<Mistakes, Config> =>
  pipe(
    find(flag, where),
    TE.chain(file => read(file, flag === undefined && !where.environment['ERRAND_CONFIG'])),
    TE.chainEitherK(({ content, file }) => decodeConfig(content, file, where)),
  )

const find =
  (flag: string | undefined, { environment, folder }: Surroundings): TE.TaskEither<Mistakes, string> =>
  async () => {
    const told = flag ?? environment['ERRAND_CONFIG']
    if (told) return E.right(path.resolve(folder, told))
    for (let at = folder; ; at = path.dirname(at)) {
      const file = path.join(at, fileName)
      if (await exists(file)) return E.right(file)
      if (path.dirname(at) === at) return mistake(`There is no ${fileName} in ${folder} or above it. ${remedy}`)
    }
  }

const remedy =
  'Let `errand init` write one, go to the folder that has one, or name it: --config FILE, or the variable ERRAND_CONFIG.'

const read =
  (told: string, wasFound: boolean): TE.TaskEither<Mistakes, { readonly content: string; readonly file: string }> =>
  async () => {
    try {
      // Its real path is its identity: two ways to one file are one ledger.
      const file = await realpath(told)
      return E.right({ file, content: await readFile(file, 'utf8') })
    } catch (error) {
      const more = !wasFound && !(await exists(told)) ? ` ${remedy}` : ''
      return mistake(`${told} cannot be read (${whyUnreadable(error)}).${more}`)
    }
  }

const mistake = (sentence: string): E.Either<Mistakes, never> => E.left([failure('invalid_request', sentence)])

const exists = async (file: string): Promise<boolean> => {
  try {
    await access(file)
    return true
  } catch {
    return false
  }
}
