import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'

/**
 * Makes the folder of one turn, for this user alone, with the files that its command wants to find there. It must not be
 * there yet: another turn's is left alone.
 */
export const makeTurnFolder = async (
  path: string,
  files: Readonly<Record<string, string>> = {},
): Promise<E.Either<Failure<'internal_error'>, void>> => {
  const folder = attempt('The folder', () => {
    // Whoever tidies up takes a folder away in which nothing lies.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 })
    mkdirSync(path, { mode: 0o700 })
  })
  if (E.isLeft(folder)) return folder
  const written = attempt('A file', () => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text, { mode: 0o600, flag: 'wx' })
  })
  if (E.isLeft(written)) await removeTurnFolder(path)
  return written
}

/** With all that lies in it. A folder that cannot be removed is no reason for a turn to fail. */
export const removeTurnFolder = async (path: string): Promise<void> => {
  try {
    // Most are empty, and this is by far the quickest way.
    rmdirSync(path)
  } catch {
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

const attempt = (what: string, action: () => void): E.Either<Failure<'internal_error'>, void> =>
  E.tryCatch(action, error => failure('internal_error', `${what} of a turn cannot be made: ${said(error)}.`))

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error))
