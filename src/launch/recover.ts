import { rm } from 'node:fs/promises'
import path from 'node:path'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Ledger } from '../budget/ledger.ts'
import { ownersOfOpenTurns } from '../budget/recover.ts'
import type { Config } from '../config/config.ts'
import { endOrphan } from '../engine/reap.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Store } from '../store/store.ts'
import { reportFolderOf } from './prepare-folder.ts'
import type { Registry } from './registry.ts'

/**
 * Cleans up after hosts that died: their turns are ended and settled, their entries dropped. In this order, so that whoever
 * is interrupted here leaves it to the next one. Done before the first new talk.
 */
export const recover = ({ store, ledger, registry, config }: Recoverable): TE.TaskEither<Failure, readonly string[]> =>
  pipe(
    // First: a host that enters after this look has its row before its first turn.
    ownersOfOpenTurns(store),
    TE.chain(registry.deadOwners),
    TE.chain(owners =>
      owners.length === 0 ? TE.right(owners) : cleanUp(ledger, registry, owners, reportFolderOf(config.stateFolder)),
    ),
  )

interface Recoverable {
  readonly store: Store
  readonly ledger: Ledger
  readonly registry: Registry
  readonly config: Pick<Config, 'stateFolder'>
}

const cleanUp = (
  ledger: Ledger,
  registry: Registry,
  owners: readonly string[],
  reportFolder: string,
): TE.TaskEither<Failure, readonly string[]> =>
  pipe(
    ledger.abandoned(owners),
    TE.chainFirstTaskK(turns => async () => {
      await Promise.all(
        turns.map(async ({ turn, process }) => {
          await endOrphan(turn, process)
          for (const left of [`${turn}.jsonl`, turn])
            await rm(path.join(reportFolder, left), { force: true, recursive: true }).catch(() => undefined)
        }),
      )
    }),
    TE.chain(turns => ledger.settleAbandoned(turns.map(({ turn }) => turn))),
    TE.chain(() => TE.traverseArray(registry.leave)(owners)),
    TE.map(() => owners),
  )
