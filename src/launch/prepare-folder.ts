import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Config } from '../config/config.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { isWithin } from '../config/warnings.ts'
import { type Failure, failure } from '../protocol/failure.ts'

export interface Folders {
  readonly binFolder: string
  readonly reportFolder: string
}

/** What a host needs in the state folder: `errand` as turns find it, and a place for their reports. */
export const prepareFolder = (
  { stateFolder, folder, instances }: Config,
  { errand }: Surroundings,
): TE.TaskEither<Failure, Folders> => {
  const binFolder = path.join(stateFolder, 'bin')
  const reportFolder = reportFolderOf(stateFolder)
  const trees = [folder, ...[...instances.values()].map(({ cwd }) => cwd)]
  return TE.tryCatch(
    async () => {
      await Promise.all([binFolder, reportFolder].map(made => mkdir(made, { recursive: true, mode: 0o700 })))
      await keep(path.join(binFolder, 'errand'), shim(errand), 0o700)
      if (trees.some(tree => isWithin(stateFolder, tree)))
        await keep(path.join(stateFolder, '.gitignore'), '*\n', 0o600)
      return { binFolder, reportFolder }
    },
    error =>
      failure(
        'write_permission',
        `The state folder ${stateFolder} cannot be prepared (${said(error)}). ` +
          'What lies in its place there can be removed: bin and reports are made anew.',
      ),
  )
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const reportFolderOf = (stateFolder: string): string => path.join(stateFolder, 'reports')

// The same Node and the same errand as the host's: a turn's PATH may lead to another one, or to none.
const shim = ([node, script]: Surroundings['errand']): string =>
  `#!/bin/sh\nexec ${quoted(node)} ${quoted(script)} "$@"\n`

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Several hosts may do this at once, while turns use it. */
const keep = async (file: string, content: string, mode: number): Promise<void> => {
  const now = await readFile(file, 'utf8').catch(() => undefined)
  if (now === content) return
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, content, { mode })
  try {
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
