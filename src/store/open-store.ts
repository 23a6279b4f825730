import fs from 'node:fs'
import path from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import { connect } from './connect.ts'
import { createSecret, hasSecret } from './secret.ts'
import { type Sql, sqlOf } from './sql.ts'
import { ensureStateFolder } from './state-folder.ts'
import type { Store } from './store.ts'
import { Damage } from './store-failure.ts'
import { inTransaction } from './transaction.ts'
import { whenUnlocked } from './when-unlocked.ts'

export interface StoreOptions {
  /** How long a locked file is tried again. */
  readonly lockedSpanMs?: number
}

export const storeFile = (stateFolder: string): string => path.join(stateFolder, 'errand.db')

/**
 * Opens the store of a state folder. Folder, store and secret are made on the first start, in this order; once the secret
 * exists, a store that is missing, empty, foreign, damaged or newer is refused: it is never a new one.
 */
export const openStore = (
  stateFolder: string,
  { lockedSpanMs = 5000 }: StoreOptions = {},
): TE.TaskEither<Failure, Store> => {
  const file = storeFile(stateFolder)
  return pipe(
    TE.fromIOEither(() => ensureStateFolder(stateFolder)),
    // The witness is looked for before the file: it is made after it.
    TE.chain(() => whenUnlocked(file, lockedSpanMs, () => connect(file, hasSecret(stateFolder)))),
    TE.chain(db =>
      pipe(
        TE.fromIOEither(() => createSecret(stateFolder)),
        TE.bimap(
          refused => {
            db.close()
            return refused
          },
          () => storeOf(db, file, lockedSpanMs),
        ),
      ),
    ),
  )
}

const soundWithinMs = 500

/**
 * The log of the file, and the index of that, with the locks: both are there for as long as the file is open. Without the log, what
 * is written is read by nobody; without the index, another process writes at the same time.
 */
const logOf = (file: string): readonly string[] => [`${file}-wal`, `${file}-shm`]

/** Throws when one of these is not the one any more that it is now. */
const watchOver = (files: readonly string[], what: (file: string) => string): (() => void) => {
  const before = files.map(file => [file, identityOf(file)] as const)
  return () => {
    for (const [file, was] of before)
      if (was === undefined || identityOf(file) !== was)
        throw new Damage(`${what(file)} was deleted or replaced while errand ran`)
  }
}

const identityOf = (file: string): string | undefined => {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

// It leaves nothing behind, but pages are written for it.
const changeNothing = (sql: Sql): void => {
  sql.run("INSERT OR REPLACE INTO balances (scope, window) VALUES ('', '')")
  sql.run("DELETE FROM balances WHERE scope = ''")
}

const storeOf = (db: DatabaseSync, file: string, lockedSpanMs: number): Store => {
  const sql = sqlOf(db)
  const checkFile = watchOver([file], () => 'it')
  const checkLog = watchOver(logOf(file), path.basename)
  let lastWasRefused = false
  const read: Store['read'] = query =>
    whenUnlocked(file, lockedSpanMs, () => {
      checkFile()
      return query(sql)
    })
  const write =
    <A>(change: (sql: Sql) => A, spanMs: number): TE.TaskEither<Failure, A> =>
    async () => {
      const written = await whenUnlocked(file, spanMs, () =>
        inTransaction(db, () => {
          checkFile()
          checkLog()
          return change(sql)
        }),
      )()
      lastWasRefused = E.isLeft(written)
      return written
    }
  return {
    file,
    read,
    write: change => write(change, lockedSpanMs),
    sound: () => (lastWasRefused ? write(changeNothing, soundWithinMs) : read(checkLog)),
    close: () => {
      if (db.isOpen) db.close()
    },
  }
}
