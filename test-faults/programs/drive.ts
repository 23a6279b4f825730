// Drives a ledger until it is killed: FOLDER OWNER. Says what is on the disk as soon as it is told: `held TURN`, `settled TURN MICRO_USD`.
import { writeSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { addCredit } from '../../src/budget/credits.ts'
import { createLedger } from '../../src/budget/open-ledger.ts'
import { openStore } from '../../src/store/open-store.ts'
import { ended, entry } from '../../test/budget/desk.ts'
import { randomOf } from '../../test/budget/random.ts'
import { right } from '../../test/store/folder.ts'
import { driven } from '../driven.ts'

const [folder = '', owner = ''] = process.argv.slice(2)
const say = (...words: readonly (string | number)[]) => writeSync(1, `${words.join(' ')}\n`)
const store = right(await openStore(folder)())
const ledger = createLedger(store, { now: Date.now })
say('ready')

const lane = async (name: string): Promise<never> => {
  const { below } = randomOf(Number.parseInt(`${owner}${name}`, 36))
  for (let nth = 0; ; nth += 1) {
    const turn = `${owner}-${name}-${nth}`
    const entered = await ledger.enter(entry(turn, { owner, limits: driven }), true)()
    if (E.isLeft(entered)) {
      right(await addCredit(store, Date.now(), { scope: 'worker', per: 'total', microUsd: 50_000 })())
      continue
    }
    if (entered.right.state === 'waiting') right(await ledger.leave(turn)())
    else {
      say('held', turn)
      right(await ledger.started(turn, { pid: process.pid, startTime: '1' })())
      // Up to half more than it holds.
      const microUsd = below(15_000)
      right(await ledger.seen(turn, below(microUsd + 1), below(100))())
      right(await ledger.ending(turn)())
      right(await ledger.settle(ended(turn, microUsd, below(4) === 0 ? 'unknown' : 'reported'))())
      say('settled', turn)
    }
    // The store never lets go of the event loop by itself.
    await new Promise(setImmediate)
  }
}

await Promise.all(['a', 'b', 'c', 'd'].map(lane))
