import * as t from 'io-ts/lib/index.js'
import { signalGroup } from '../process/signal.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Store } from '../store/store.ts'
import { atExit } from './at-exit.ts'

const leader = t.type({ pid: countColumn, startTime: textColumn })

/**
 * For a process that ends without stopping its host first (`process.exit()`, an uncaught exception): kills the groups of the
 * turns that run. Nothing can be awaited then; what has left its group, and the money, is left to the next start.
 */
export const onSuddenExit = (store: Store, owner: string): (() => void) =>
  atExit(() => {
    // A query runs at once, within the call.
    void store.read(sql => {
      const running = sql.all(
        leader,
        "SELECT pid, startTime FROM turns WHERE owner = ? AND state IN ('running', 'ending') AND pid IS NOT NULL",
        owner,
      )
      for (const one of running) signalGroup(one, 'SIGKILL')
    })()
  })
