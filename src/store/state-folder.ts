import fs from 'node:fs'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { fileFailure } from './store-failure.ts'

/**
 * The folder that holds the store and the secret, made when it is missing. One that others could write, or lead elsewhere,
 * is refused: whoever writes there has the secret, and the money.
 */
export const ensureStateFolder = (folder: string): E.Either<Failure, void> => {
  try {
    // What is there leads nowhere or elsewhere, if it is a link: nothing is made by it.
    if (fs.lstatSync(folder, { throwIfNoEntry: false }) === undefined) make(folder)
    return ours(folder, fs.lstatSync(folder))
  } catch (cause) {
    const known = fileFailure(folder, cause)
    if (known) return E.left(known)
    throw cause
  }
}

/** Whether what lies there can be the state folder. */
export const ours = (folder: string, what: fs.Stats): E.Either<Failure, void> => {
  if (what.isSymbolicLink()) return refuse(folder, 'is a symbolic link', 'name the folder itself in "stateDir"')
  if (!what.isDirectory()) return refuse(folder, 'is not a folder', 'move it away, or name another "stateDir"')
  const self = process.getuid?.()
  if (self !== undefined && what.uid !== self)
    return refuse(
      folder,
      `belongs to another user (uid ${what.uid})`,
      'run errand as that user, or name another "stateDir"',
    )
  if ((what.mode & 0o022) !== 0)
    return refuse(folder, 'can be written by other users', `take that away: chmod go-w ${folder}`)
  return E.right(undefined)
}

// Not mkdir's own `recursive`: in a file system that makes no folders (/proc) it goes round for ever.
const make = (folder: string): void => {
  if (fs.existsSync(folder)) return
  const above = path.dirname(folder)
  if (above !== folder) make(above)
  try {
    fs.mkdirSync(folder, 0o700)
  } catch (cause) {
    // Another process may have made it just now.
    if (!fs.existsSync(folder)) throw cause
  }
}

const refuse = (folder: string, what: string, mend: string): E.Either<Failure, never> =>
  E.left(failure('write_permission', `The state folder ${folder} ${what}; ${mend}.`))
