import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import * as t from 'io-ts/lib/index.js'
import { createLedger } from '../src/budget/open-ledger.ts'
import { countColumn, integerColumn, textColumn } from '../src/store/columns.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { randomOf } from '../test/budget/random.ts'
import { right, testFolder } from '../test/store/folder.ts'
import { times } from './counts.ts'
import { driven } from './driven.ts'

const program = fileURLToPath(new URL('programs/drive.ts', import.meta.url))

/** Starts it and kills it so long after it has said so many lines; then tells what it said. */
const killed = async (folder: string, owner: string, lines: number, ms: number): Promise<readonly string[]> => {
  const child = spawn(process.execPath, [program, folder, owner], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const enough = Promise.withResolvers<void>()
  // What has no line end was not said.
  let said: readonly string[] = []
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part
    said = text.split('\n').slice(0, -1)
    if (said.length >= lines) enough.resolve()
  })
  if (lines === 0) enough.resolve()
  await Promise.race([enough.promise, ended])
  await pause(ms)
  child.kill('SIGKILL')
  await ended
  return said
}

const turnRow = t.intersection([
  t.type({ turn: textColumn, state: textColumn }),
  t.partial({ heldMicroUsd: countColumn, costMicroUsd: countColumn }),
])
const sums = t.type({
  spentMicroUsd: countColumn,
  heldMicroUsd: integerColumn,
  heldTurns: integerColumn,
  turns: countColumn,
  creditMicroUsd: countColumn,
})

const rowsOf = async (store: Store) =>
  right(await store.read(sql => sql.all(turnRow, 'SELECT turn, state, heldMicroUsd, costMicroUsd FROM turns'))())

/** What must hold after every kill. `said` is what was told to be on the disk. */
const checkAfter = async (
  x: ExecutionContext,
  folder: string,
  owner: string,
  said: ReadonlySet<string>,
): Promise<number> => {
  const store = right(await openStore(folder)())
  const ledger = createLedger(store, { now: Date.now })
  const sound = right(
    await store.read(sql => sql.one(t.type({ integrity_check: textColumn }), 'PRAGMA integrity_check'))(),
  )
  x.is(sound?.integrity_check, 'ok')
  const states = new Map((await rowsOf(store)).map(({ turn, state }) => [turn, state]))
  for (const line of said) {
    const [what, turn = ''] = line.split(' ')
    const state = states.get(turn)
    x.true(what === 'settled' ? state === 'done' : state !== undefined && state !== 'waiting', `${line}: ${state}`)
  }
  const open = right(await ledger.abandoned([owner])()).map(({ turn }) => turn)
  right(await ledger.settleAbandoned(open)())
  const turns = await rowsOf(store)
  x.true(turns.every(({ state }) => state === 'done'))
  const spent = turns.reduce((sum, { costMicroUsd = 0 }) => sum + costMicroUsd, 0)
  const crossed = turns.reduce(
    (sum, { costMicroUsd = 0, heldMicroUsd = 0 }) => sum + Math.max(0, costMicroUsd - heldMicroUsd),
    0,
  )
  const balances = right(await store.read(sql => sql.all(sums, 'SELECT * FROM balances'))())
  for (const balance of balances.filter(({ turns }) => turns > 0)) {
    x.like(balance, { spentMicroUsd: spent, heldMicroUsd: 0, heldTurns: 0, turns: turns.length })
  }
  const limit = (driven.budget?.microUsd ?? 0) + Math.max(0, ...balances.map(({ creditMicroUsd }) => creditMicroUsd))
  x.true(spent <= limit + crossed, `${spent} of ${limit}, and ${crossed} by turns that crossed their hold`)
  store.close()
  return open.length
}

const lanes = 3

test(`${times(180)} kills of a process that drives the ledger: what it was told is there, nothing stays held, no money is lost`, async x => {
  const cut = await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const folder = testFolder(x)
      const { below } = randomOf(100 + lane)
      const said = new Set<string>()
      let open = 0
      for (let nth = 0; nth < times(180 / lanes); nth += 1) {
        const owner = `k${lane}x${nth}`
        // One in six before its first word, so that the opening of the store is cut too.
        const early = below(6) === 0
        for (const line of await killed(folder, owner, early ? 0 : 1 + below(30), early ? below(400) : below(15))) {
          if (line === 'ready') continue
          x.false(said.has(line), `twice: ${line}`)
          said.add(line)
        }
        open += await checkAfter(x, folder, owner, said)
      }
      return { said: said.size, open }
    }),
  )
  x.log(
    `${cut.reduce((sum, { said }) => sum + said, 0)} facts said, ${cut.reduce((sum, { open }) => sum + open, 0)} turns cut`,
  )
  x.true(cut.every(({ said }) => said > 0))
})
