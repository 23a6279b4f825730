import type { DatabaseSync } from 'node:sqlite'

/** All of `change` or nothing: what it throws is rolled back and thrown on. */
export const inTransaction = <A>(db: DatabaseSync, change: () => A): A => {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = change()
    db.exec('COMMIT')
    return result
  } catch (cause) {
    // A full disk or a failed write has rolled back by itself.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw cause
  }
}
