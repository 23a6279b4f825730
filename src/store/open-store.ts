import fs from 'node:fs'
import path from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import { connect } from './connect.ts'
import { createSecret, hasSecret } from './secret.ts'
import { sqlOf } from './sql.ts'
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

const storeOf = (db: DatabaseSync, file: string, lockedSpanMs: number): Store => {
  const sql = sqlOf(db)
  const opened = fs.statSync(file, { throwIfNoEntry: false })
  const checkStillThere = (): void => {
    const now = fs.statSync(file, { throwIfNoEntry: false })
    if (now === undefined || now.ino !== opened?.ino || now.dev !== opened.dev)
      throw new Damage('it was deleted or replaced while errand ran')
  }
  return {
    file,
    read: query =>
      whenUnlocked(file, lockedSpanMs, () => {
        checkStillThere()
        return query(sql)
      }),
    write: change =>
      whenUnlocked(file, lockedSpanMs, () =>
        inTransaction(db, () => {
          checkStillThere()
          return change(sql)
        }),
      ),
    close: () => {
      if (db.isOpen) db.close()
    },
  }
}
