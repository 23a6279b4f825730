import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Ledger } from '../budget/ledger.ts'
import { createLedger } from '../budget/open-ledger.ts'
import type { Config } from '../config/config.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { openStore } from '../store/open-store.ts'
import { readSecret } from '../store/secret.ts'
import type { Store } from '../store/store.ts'
import { type InsideTurn, insideTurn } from './inside.ts'
import { type Registry, registryOf } from './registry.ts'

/** The state folder of one budgets.json, open. */
export interface State {
  readonly config: Config
  readonly where: Surroundings
  readonly store: Store
  readonly ledger: Ledger
  /** The bus secret; `undefined` under `"secret": false`, and inside a turn, which has its token. */
  readonly secret: string | undefined
  readonly inside: InsideTurn | undefined
  readonly registry: Registry
  /** Called by `close`, in order: hosts that a talk started end when nothing runs or waits there. */
  readonly onClose: (() => Promise<void>)[]
  readonly close: () => Promise<void>
}

/** Opens it, made when it does not exist yet. Left: no permission, a newer version, damaged, … */
export const openState = (config: Config, where: Surroundings): TE.TaskEither<Failure, State> => {
  const inside = insideTurn(where)
  return pipe(
    openStore(config.stateFolder),
    TE.chain(store =>
      pipe(
        TE.fromEither(secretOf(config, where, inside)),
        TE.bimap(
          refused => {
            store.close()
            return refused
          },
          secret => stateOf(config, where, store, secret, inside),
        ),
      ),
    ),
  )
}

const stateOf = (
  config: Config,
  where: Surroundings,
  store: Store,
  secret: string | undefined,
  inside: InsideTurn | undefined,
): State => {
  const onClose: (() => Promise<void>)[] = []
  let closed: Promise<void> | undefined
  const close = async () => {
    for (const end of onClose) await end()
    store.close()
  }
  return {
    config,
    where,
    store,
    ledger: createLedger(store, where),
    secret,
    inside,
    registry: registryOf(store, where.now),
    onClose,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

const secretOf = (
  { secret, stateFolder }: Config,
  { environment }: Surroundings,
  inside: InsideTurn | undefined,
): E.Either<Failure, string | undefined> => {
  if (!secret || inside !== undefined) return E.right(undefined)
  const told = environment['ERRAND_SECRET']
  if (!told) return readSecret(stateFolder)
  return /^[\x21-\x7e]+$/.test(told)
    ? E.right(told)
    : E.left(failure('invalid_request', 'ERRAND_SECRET must be visible ASCII characters without blanks.'))
}
