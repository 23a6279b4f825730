// Holds a lock on the file named first, until a line comes on stdin.
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'

const db = new DatabaseSync(String(process.argv[2]))
db.exec('BEGIN IMMEDIATE')
console.log('locked')
await once(process.stdin, 'data')
db.exec('COMMIT')
db.close()
process.exit(0)
