import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Store } from '../store/store.ts'
import { answerOf } from './answers.ts'
import type { TurnRecord } from './ledger.ts'
import { basisColumn, stateColumn } from './turn-row.ts'

/** Turns, newest first, without their answers. */
export const turnRecords = (
  store: Store,
  { limit, instance }: { readonly limit: number; readonly instance?: string },
): TE.TaskEither<Failure, readonly TurnRecord[]> =>
  store.read(sql =>
    instance === undefined
      ? sql.all(turnRecordRow, `${select} ORDER BY number DESC LIMIT ?`, limit)
      : sql.all(turnRecordRow, `${select} WHERE instance = ? ORDER BY number DESC LIMIT ?`, instance, limit),
  )

/** One turn with its answer, by its id or by the beginning of it, where that is no other's. */
export const turnRecord = (store: Store, nowMs: number, id: string): TE.TaskEither<Failure, TurnRecord | undefined> =>
  pipe(
    store.read(sql => {
      const exact = sql.one(turnRecordRow, `${select} WHERE turn = ?`, id)
      const found = exact
        ? [exact]
        : sql.all(turnRecordRow, `${select} WHERE turn >= ? AND turn < ? LIMIT 2`, id, `${id}\u{10FFFF}`)
      const [turn, another] = found
      if (another) return E.left(failure('invalid_request', `More than one turn begins with "${id}"; give more of it.`))
      const answer = turn && answerOf(sql, turn.turn, nowMs)
      return E.right(turn && { ...turn, ...(answer === undefined ? {} : { answer }) })
    }),
    TE.chainEitherK((found): E.Either<Failure, TurnRecord | undefined> => found),
  )

/** All turns under one root, oldest first; `parent` makes the tree. */
export const turnTree = (store: Store, root: string): TE.TaskEither<Failure, readonly TurnRecord[]> =>
  store.read(sql => sql.all(turnRecordRow, `${select} WHERE root = ? ORDER BY number`, root))

const select = `
  SELECT turn, root, parent, instance, sender AS "from", depth, engine, model, session, thread, state,
    createdAtMs, startedAtMs, endedAtMs, outcome, error, costMicroUsd, basis,
    (SELECT -min(microUsd) FROM credits WHERE kind = 'forgive' AND credits.turn = turns.turn) AS forgivenMicroUsd,
    CASE state WHEN 'done' THEN tokens ELSE seenTokens END AS tokens
  FROM turns`

const turnRecordRow: t.Decoder<unknown, TurnRecord> = t.intersection([
  t.type({
    turn: textColumn,
    root: textColumn,
    instance: textColumn,
    from: textColumn,
    depth: countColumn,
    engine: textColumn,
    state: stateColumn,
    createdAtMs: countColumn,
    tokens: countColumn,
  }),
  t.partial({
    parent: textColumn,
    model: textColumn,
    session: textColumn,
    thread: textColumn,
    startedAtMs: countColumn,
    endedAtMs: countColumn,
    outcome: textColumn,
    error: textColumn,
    costMicroUsd: countColumn,
    basis: basisColumn,
    forgivenMicroUsd: countColumn,
  }),
])
