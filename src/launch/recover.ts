import { rm } from 'node:fs/promises'
import path from 'node:path'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Ledger } from '../budget/ledger.ts'
import { lastEnded } from '../budget/left-open.ts'
import { ownersOfOpenTurns } from '../budget/recover.ts'
import type { Config } from '../config/config.ts'
import { endOrphan, sweepNow, sweepSoon } from '../engine/reap.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Store } from '../store/store.ts'
import { reportFolderOf } from './prepare-folder.ts'
import type { Registry } from './registry.ts'

/**
 * Cleans up after hosts that died: their turns are ended and settled, their entries dropped. In this order, so that whoever
 * is interrupted here leaves it to the next one. Done before the first new talk.
 */
export const recover = (at: Recoverable): TE.TaskEither<Failure, readonly string[]> =>
  pipe(
    // First: a host that enters after this look has its row before its first turn.
    ownersOfOpenTurns(at.store),
    TE.chain(at.registry.deadOwners),
    TE.chain(owners => (owners.length === 0 ? TE.right(owners) : cleanUp(at, owners))),
  )

interface Recoverable {
  readonly store: Store
  readonly ledger: Ledger
  readonly registry: Registry
  readonly config: Pick<Config, 'stateFolder'>
}

const cleanUp = (
  { store, ledger, registry, config }: Recoverable,
  owners: readonly string[],
): TE.TaskEither<Failure, readonly string[]> =>
  pipe(
    lastEnded(store, owners),
    TE.chainTaskK(turns => () => {
      for (const turn of turns) sweepSoon(turn)
      return sweepNow()
    }),
    TE.chain(() => ledger.abandoned(owners)),
    TE.chainFirstTaskK(turns => async () => {
      await Promise.all(
        turns.map(async ({ turn, process }) => {
          await endOrphan(turn, process)
          for (const left of [`${turn}.jsonl`, turn])
            await rm(path.join(reportFolderOf(config.stateFolder), left), { force: true, recursive: true }).catch(
              () => undefined,
            )
        }),
      )
    }),
    TE.chain(turns => ledger.settleAbandoned(turns.map(({ turn }) => turn))),
    TE.chain(() => TE.traverseArray(registry.leave)(owners)),
    TE.map(() => owners),
  )
