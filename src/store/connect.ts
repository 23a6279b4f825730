import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import * as t from 'io-ts/lib/index.js'
import { countColumn, integerColumn } from './columns.ts'
import { applicationId, migrate, migrations } from './schema.ts'
import { sqlOf } from './sql.ts'
import { Damage, Newer } from './store-failure.ts'
import { inTransaction } from './transaction.ts'

/** A connection to a sound file of this version; a fresh one is made only where no store can have existed. */
export const connect = (file: string, existed: boolean): DatabaseSync => {
  checkFile(file, existed)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    const fresh = stepsAreMissing(db, existed)
    prepareConnection(db)
    if (!fresh) return db
    inTransaction(db, () => {
      if (stepsAreMissing(db, existed)) migrate(db, contentOf(db).version)
    })
    // So that the tables stand in the file itself, should its log be lost.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

const checkFile = (file: string, existed: boolean): void => {
  const what = fs.lstatSync(file, { throwIfNoEntry: false })
  if (what === undefined) {
    if (existed) throw new Damage('it is gone')
    fs.closeSync(fs.openSync(file, 'a', 0o600))
    return
  }
  if (!what.isFile()) throw new Damage('it is not a file')
  if (existed && what.size === 0) throw new Damage('it is empty')
  if ((what.mode & 0o077) !== 0) fs.chmodSync(file, 0o600)
}

/** Whether steps are missing. Nothing is written before this has said that the file is ours, or new. */
const stepsAreMissing = (db: DatabaseSync, existed: boolean): boolean => {
  const { id, version, tables } = contentOf(db)
  if (id === 0 && tables === 0 && !existed) return true
  if (id !== applicationId) throw new Damage('its application_id is not that of errand')
  if (version < 1) throw new Damage(`it says version ${version}`)
  if (version > migrations.length) throw new Newer(`version ${version}, this one knows ${migrations.length}`)
  return version < migrations.length
}

const content = t.type({ id: integerColumn, version: integerColumn, tables: countColumn })

// One statement, so that it is one moment: another first start may be making the tables just now.
const contentOf = (db: DatabaseSync): t.TypeOf<typeof content> => {
  const found = sqlOf(db).one(
    content,
    `SELECT application_id AS id, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS tables
     FROM pragma_application_id, pragma_user_version`,
  )
  if (found === undefined) throw new Damage('it says nothing of itself')
  return found
}

const prepareConnection = (db: DatabaseSync): void => {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216')
  // The log is opened by the first one who reads.
  db.exec('SELECT 1 FROM sqlite_schema')
}
