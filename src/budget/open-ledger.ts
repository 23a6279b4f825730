import type * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { familyOf } from './family.ts'
import { enterTurn, holdTurn, stillWaits, verdictFor } from './hold.ts'
import type { Entered, Ledger } from './ledger.ts'
import {
  askedToEnd,
  askToEnd,
  countOpen,
  leaveLine,
  noteEnding,
  noteSeen,
  noteStarted,
  turnOfToken,
  unfinishedChildren,
} from './open-turns.ts'
import { abandonedTurns, settleAbandonedTurns } from './recover.ts'
import { claimKey, freeKey } from './requests.ts'
import { exhausted } from './sentences.ts'
import { settleTurn } from './settle.ts'

export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The ledger of one state folder. It keeps nothing in memory: other processes write there too. */
export const createLedger = (store: Store, { now }: Clock): Ledger => {
  const decided = <A>(change: (sql: Sql) => E.Either<Failure, A>): TE.TaskEither<Failure, A> =>
    pipe(
      store.write(change),
      TE.chainEitherK(decision => decision),
    )

  return {
    // Most refusals are of an empty budget; those cost two reads and no transaction.
    enter: (entry, slotFree, othersFirst = false) =>
      pipe(
        store.read(sql => verdictFor(sql, entry, now())),
        TE.chain(verdict =>
          verdict.kind === 'exhausted'
            ? TE.left(exhausted(verdict.by))
            : decided(sql => enterTurn(sql, entry, slotFree ? 'mine' : othersFirst ? 'others first' : 'taken', now())),
        ),
      ),
    // Asked again and again by those that wait, so a wait that goes on must not write.
    hold: entry =>
      pipe(
        store.read(sql => stillWaits(sql, entry, now())),
        TE.chain(waitsFor =>
          waitsFor === undefined
            ? decided(sql => holdTurn(sql, entry, now()))
            : TE.right<Failure, Entered>({ state: 'waiting', for: waitsFor }),
        ),
      ),
    leave: turn => store.write(sql => leaveLine(sql, turn)),
    started: (turn, process) => store.write(sql => noteStarted(sql, turn, process, now())),
    seen: (turn, microUsd, tokens) => store.write(sql => noteSeen(sql, turn, microUsd, tokens)),
    ending: turn => store.write(sql => noteEnding(sql, turn)),
    askToEnd: (turn, by) => store.write(sql => askToEnd(sql, turn, by)),
    askedToEnd: owner => store.read(sql => askedToEnd(sql, owner)),
    openOf: (owners, instance, queueTimeoutMs) =>
      store.read(sql => countOpen(sql, owners, instance, queueTimeoutMs, now())),
    claim: keyed => store.write(sql => claimKey(sql, keyed, now())),
    unclaim: turn => store.write(sql => freeKey(sql, turn)),
    settle: (ended, keeps) => decided(sql => settleTurn(sql, ended, now(), keeps)),
    proved: tokenDigest => store.read(sql => turnOfToken(sql, tokenDigest)),
    children: parent => store.read(sql => unfinishedChildren(sql, parent)),
    family: turn => store.read(sql => familyOf(sql, turn)),
    abandoned: owners => store.write(sql => abandonedTurns(sql, owners)),
    settleAbandoned: turns => store.write(sql => settleAbandonedTurns(sql, turns, now())),
    sound: store.sound,
  }
}
