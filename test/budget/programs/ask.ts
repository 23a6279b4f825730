// On a line from stdin, asks an instance in the name of a turn: FOLDER PARENT INSTANCE. Prints what became of it.
import { once } from 'node:events'
import * as E from 'fp-ts/lib/Either.js'
import { createLedger } from '../../../src/budget/open-ledger.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { right } from '../../store/folder.ts'
import { entry } from '../desk.ts'

const [folder = '', parent = '', instance = ''] = process.argv.slice(2)
const ledger = createLedger(right(await openStore(folder)()), { now: Date.now })
console.log('ready')
await once(process.stdin, 'data')
const entered = await ledger.enter(entry(`of ${parent}`, { root: parent, parent, instance }), false)()
console.log(E.isLeft(entered) ? entered.left.code : entered.right.state)
process.exit(0)
