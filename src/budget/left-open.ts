import type * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import type { Failure } from '../protocol/failure.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import type { OpenTurn } from './ledger.ts'

/** What these hosts have open. Changes nothing, unlike what cleans up after them (`recover.ts`). */
export const leftOpen = (store: Store, owners: readonly string[]): TE.TaskEither<Failure, readonly OpenTurn[]> =>
  store.read(sql => openTurnsOf(sql, owners))

export const openTurnsOf = (sql: Sql, owners: readonly string[]): readonly OpenTurn[] =>
  sql
    .all(
      openRow,
      `SELECT turn, instance, pid, startTime FROM turns
       WHERE state IN ('running', 'ending') AND owner IN (SELECT value FROM json_each(?)) ORDER BY number`,
      JSON.stringify(owners),
    )
    .map(({ turn, instance, pid, startTime }) => ({
      turn,
      instance,
      ...(pid === undefined || startTime === undefined ? {} : { process: { pid, startTime } }),
    }))

// More than a host can end in the second that it takes to look for what they left.
const lastTurns = 1000

/** The turns that these hosts ended last. Who dies soon after has not looked yet for what left their groups. */
export const lastEnded = (store: Store, owners: readonly string[]): TE.TaskEither<Failure, readonly string[]> =>
  store.read(sql =>
    sql
      .all(
        t.type({ turn: textColumn }),
        `SELECT turn FROM turns
         WHERE state = 'done' AND owner IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT ${lastTurns}`,
        JSON.stringify(owners),
      )
      .map(({ turn }) => turn),
  )

/** The latest moment that the store knows of; in the future where the clock was set back. */
export const latestMomentMs = (store: Store): TE.TaskEither<Failure, number | undefined> =>
  store.read(
    sql =>
      sql.one(
        t.partial({ latestMs: countColumn }),
        `SELECT max(atMs) AS latestMs FROM (
           SELECT max(createdAtMs) AS atMs FROM turns UNION ALL SELECT max(startedAtMs) FROM turns
           UNION ALL SELECT max(endedAtMs) FROM turns UNION ALL SELECT max(createdAtMs) FROM credits
           UNION ALL SELECT max(startedAtMs) FROM hosts)`,
      )?.latestMs,
  )

const openRow = t.intersection([
  t.type({ turn: textColumn, instance: textColumn }),
  t.partial({ pid: countColumn, startTime: textColumn }),
])
