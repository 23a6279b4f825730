import { type Failure, failure } from '../protocol/failure.ts'

/** A row, or the file as a whole, that does not hold what it must. */
export class Damage extends Error {}

/** The file of a version that we do not know yet. */
export class Newer extends Error {}

/** Another process holds the lock: to be tried again. */
export const isLocked = (cause: unknown): boolean => resultCode(cause) === sqlite.busy

/** What SQLite or the file system refused, told with the file and the mend. What is neither is a bug, and thrown on. */
export const storeFailure = (file: string, cause: unknown): Failure => {
  if (cause instanceof Damage) return damaged(file, cause.message)
  if (cause instanceof Newer) return newer(file, cause.message)
  const said = cause instanceof Error ? cause.message : String(cause)
  switch (resultCode(cause)) {
    case sqlite.corrupt:
    case sqlite.notADatabase:
      return damaged(file, said)
    case sqlite.readOnly:
    case sqlite.permission:
    case sqlite.authorization:
    case sqlite.cannotOpen:
      return notWritable(file, said)
    case sqlite.busy:
    case sqlite.locked:
      return failure(
        'internal_error',
        `The store ${file} is locked by another program; end that program, then try again.`,
      )
    case sqlite.full:
      return noSpace(file)
    case undefined:
      break
    default:
      if (/^no such (table|column)/.test(said)) return damaged(file, said)
      return failure('internal_error', `The store ${file} refused: ${said}. Nothing was changed; look at the disk.`)
  }
  const known = fileFailure(file, cause)
  if (known) return known
  if (codeOf(cause) === 'ERR_INVALID_STATE') return failure('internal_error', `The store ${file} is closed already.`)
  if (codeOf(cause) === 'ERR_OUT_OF_RANGE') return damaged(file, said)
  throw cause
}

/** What the file system refused; undefined when it is not of the file system. */
export const fileFailure = (path: string, cause: unknown): Failure | undefined => {
  const code = codeOf(cause)
  if (typeof code !== 'string' || !/^E[A-Z0-9]+$/.test(code)) return undefined
  if (code === 'ENOSPC' || code === 'EDQUOT') return noSpace(path)
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ELOOP', 'EISDIR'].includes(code))
    return notWritable(path, code)
  return failure('internal_error', `${path} cannot be used (${code}). Nothing was changed; look at the disk.`)
}

const damaged = (file: string, how: string): Failure =>
  failure(
    'session_state',
    `The store ${file} cannot be trusted: ${how}. What was spent cannot be told, so nothing runs. ` +
      'Put a good copy in its place, or move the whole state folder away to begin anew.',
  )

const newer = (file: string, how: string): Failure =>
  failure('session_state', `The store ${file} was written by a newer errand (${how}): upgrade errand.`)

const notWritable = (path: string, how: string): Failure =>
  failure(
    'write_permission',
    `${path} cannot be written (${how}). Give this user the right to write there, or name another "stateDir" in budgets.json.`,
  )

const noSpace = (path: string): Failure =>
  failure('internal_error', `No space is left for ${path}. Nothing was changed; free some space, then try again.`)

// Primary result codes of SQLite: the lowest byte of an extended one.
const sqlite = {
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  authorization: 23,
  notADatabase: 26,
} as const

const resultCode = (cause: unknown): number | undefined =>
  cause instanceof Error && 'errcode' in cause && typeof cause.errcode === 'number' ? cause.errcode & 0xff : undefined

const codeOf = (cause: unknown): unknown => (cause instanceof Error && 'code' in cause ? cause.code : undefined)
