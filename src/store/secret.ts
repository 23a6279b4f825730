import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { fileFailure } from './store-failure.ts'

/** The bus secret of a state folder. It is made after the store, so it also witnesses that a store existed. */
export const secretFile = (folder: string): string => path.join(folder, 'secret')

/** Whether there is one, whatever its state. */
export const hasSecret = (folder: string): boolean =>
  fs.lstatSync(secretFile(folder), { throwIfNoEntry: false }) !== undefined

/** Makes it unless it exists. Of two first starts at once one wins, and nobody ever sees half of it: a link cannot overwrite. */
export const createSecret = (folder: string): E.Either<Failure, void> =>
  guarded(secretFile(folder), () => {
    if (hasSecret(folder)) return E.right(undefined)
    const draft = `${secretFile(folder)}.${randomBytes(8).toString('hex')}`
    try {
      fs.writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true })
      linkUnlessThere(draft, secretFile(folder))
    } finally {
      fs.rmSync(draft, { force: true })
    }
    return E.right(undefined)
  })

/** 64 hexadecimal digits. Refused: a file that others may read or that is not ours, a link, another content. */
export const readSecret = (folder: string): E.Either<Failure, string> => {
  const file = secretFile(folder)
  return guarded(file, () => {
    if (fs.lstatSync(file).isSymbolicLink()) return noSecret(file, 'is a symbolic link')
    const opened = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
    try {
      const what = fs.fstatSync(opened)
      const self = process.getuid?.()
      if (!what.isFile()) return noSecret(file, 'is not a file')
      if (self !== undefined && what.uid !== self) return noSecret(file, 'belongs to another user')
      if ((what.mode & 0o077) !== 0) return openToOthers(file)
      const secret = fs.readFileSync(opened, 'utf8').trim()
      return /^[0-9a-f]{64}$/.test(secret) ? E.right(secret) : noSecret(file, 'does not hold 64 hexadecimal digits')
    } finally {
      fs.closeSync(opened)
    }
  })
}

const linkUnlessThere = (draft: string, file: string): void => {
  try {
    fs.linkSync(draft, file)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
  }
}

const openToOthers = (file: string): E.Either<Failure, never> =>
  E.left(
    failure(
      'write_permission',
      `Other users can read or write the secret ${file}: remove it, and the next start makes a new one.`,
    ),
  )

const noSecret = (file: string, what: string): E.Either<Failure, never> =>
  E.left(failure('session_state', `The secret ${file} ${what}: remove it, and the next start makes a new one.`))

const guarded = <A>(file: string, effect: () => E.Either<Failure, A>): E.Either<Failure, A> => {
  try {
    return effect()
  } catch (cause) {
    const known = fileFailure(file, cause)
    if (known) return E.left(known)
    throw cause
  }
}
