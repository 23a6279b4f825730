// Opens the store of the folder named first as soon as a line comes on stdin, and prints the secret.
import { once } from 'node:events'
import { openStore } from '../../../src/store/open-store.ts'
import { readSecret } from '../../../src/store/secret.ts'

const folder = String(process.argv[2])
console.log('ready')
await once(process.stdin, 'data')
console.log(JSON.stringify([await openStore(folder)(), readSecret(folder)]))
process.exit(0)
