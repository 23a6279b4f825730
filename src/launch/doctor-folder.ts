import fs from 'node:fs'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { shellWord } from '../config/program.ts'
import { storeFile } from '../store/open-store.ts'
import { readSecret, secretFile } from '../store/secret.ts'
import { ours } from '../store/state-folder.ts'
import { fileFailure } from '../store/store-failure.ts'
import { type Finding, fine, problem, warning } from './doctor-finding.ts'
import { networkFileSystem } from './doctor-mounts.ts'

const about = 'state folder'

/** A file or folder of ours that others may read or write, and the mode that it should have. */
export interface OpenToOthers {
  readonly path: string
  readonly mode: number
  readonly shouldBe: number
}

/** The state folder as it lies on the disk; nothing in it is opened or changed. */
export const lookAtFolder = (folder: string, secretWanted: boolean): readonly Finding[] => {
  const found = whatIs(folder)
  if (E.isLeft(found)) {
    const why = fileFailure(folder, found.left)
    return why === undefined ? [] : [problem(about, why.code, why.sentence)]
  }
  const what = found.right
  const network = networkFileSystem(folder)
  const far =
    network === undefined
      ? []
      : [
          warning(
            about,
            `${folder} lies on a network file system (${network}), where locks of SQLite cannot be relied on. Let "stateDir" in ` +
              'budgets.json, or XDG_STATE_HOME, name a folder on a local disk.',
          ),
        ]
  if (what === undefined) return [...far, fine(about, `${folder} is made at the first start.`)]
  const kind = ours(folder, what)
  if (E.isLeft(kind) && !what.isDirectory()) return [...far, problem(about, kind.left.code, kind.left.sentence)]
  const open = openToOthers(folder)
  const modes = open.map(each =>
    warning(
      about,
      `${each.path} has mode ${octal(each.mode)}: other users can get at it.`,
      `chmod ${octal(each.shouldBe)} ${shellWord(each.path)}`,
    ),
  )
  return [
    ...far,
    ...(modes.length > 0 ? modes : [fine(about, `${folder}, mode ${octal(what.mode)}, is yours alone.`)]),
    ...(secretWanted ? lookAtSecret(folder) : []),
  ]
}

const lookAtSecret = (folder: string): readonly Finding[] => {
  if (!mayBeThere(secretFile(folder))) return [fine('secret', 'The bus secret is made at the first start.')]
  const secret = readSecret(folder)
  if (E.isRight(secret)) return [fine('secret', 'The bus secret can be read by you alone.')]
  const { code, sentence } = secret.left
  return [problem('secret', code, sentence, `rm ${shellWord(secretFile(folder))}`)]
}

/** The folder and what lies in it, as far as it is ours; a folder that is closed keeps others from what is deeper. */
export const openToOthers = (folder: string): readonly OpenToOthers[] => {
  const self = process.getuid?.()
  const names = listed(folder).map(name => path.join(folder, name))
  return [folder, ...names].flatMap(each => {
    const what = E.getOrElseW(() => undefined)(whatIs(each))
    if (what === undefined || what.isSymbolicLink() || (self !== undefined && what.uid !== self)) return []
    if ((what.mode & 0o077) === 0) return []
    return [{ path: each, mode: what.mode, shouldBe: what.isDirectory() ? 0o700 : 0o600 }]
  })
}

/** Whether there is a store to be opened: opening would make one. */
export const hasStore = (folder: string): boolean => mayBeThere(storeFile(folder)) || mayBeThere(secretFile(folder))

/** Nothing, where there is none; left, where nobody here may look. */
const whatIs = (file: string): E.Either<unknown, fs.Stats | undefined> =>
  E.tryCatch(
    () => fs.lstatSync(file, { throwIfNoEntry: false }),
    error => error,
  )

const mayBeThere = (file: string): boolean => {
  const what = whatIs(file)
  return E.isLeft(what) || what.right !== undefined
}

const listed = (folder: string): readonly string[] => {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')
