// On a line from stdin, enters turns all at once: FOLDER OWNER COUNT COST LIMIT_USD [ROOT]. COST is what each is settled at, in
// micro-dollars, or `hold`: never settled; who holds it does not wait for more. Says how many came to what.
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { createLedger } from '../../../src/budget/open-ledger.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { right } from '../../store/folder.ts'
import { ended, entry, usd } from '../desk.ts'

const [folder = '', owner = '', count = '', cost = '', limitUsd = '', root] = process.argv.slice(2)
const ledger = createLedger(right(await openStore(folder)()), { now: Date.now })
const limits = { budget: { microUsd: usd(Number(limitUsd)), per: 'total' }, maxTurnMicroUsd: usd(0.1) } as const
const outcomes: Record<string, number> = {}

const run = async (at: number): Promise<void> => {
  const turn = `${owner} ${at}`
  const asked = entry(turn, { owner, limits, maxTurnsPerRoot: 1000, ...(root === undefined ? {} : { root }) })
  let entered = await ledger.enter(asked, true)()
  while (cost !== 'hold' && E.isRight(entered) && entered.right.state === 'waiting') {
    await pause(5)
    entered = await ledger.hold(asked)()
  }
  const outcome = E.isLeft(entered) ? entered.left.code : entered.right.state
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  if (outcome === 'running' && cost !== 'hold') right(await ledger.settle(ended(turn, Number(cost)))())
}

console.log('ready')
await once(process.stdin, 'data')
if (Number(count) > 1000) {
  for (let at = 0; at < Number(count); at += 1) {
    await run(at)
    if (at === 20) console.log('busy with it')
    // The store never lets go of the event loop by itself; the pipe must be written.
    if (at % 10 === 0) await new Promise(setImmediate)
  }
}
await Promise.all(Array.from({ length: Number(count) }, (_, at) => run(at)))
console.log(JSON.stringify(outcomes))
setInterval(() => undefined, 60_000)
