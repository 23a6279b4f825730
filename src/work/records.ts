import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import type { Envelope } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { fits, type Input, keptAnswer, workflowFailure } from './record.ts'

/** How long the record of a workflow that has ended is kept, and of one that was interrupted. */
const endedForMs = 24 * 60 * 60 * 1000
const openForMs = 7 * endedForMs

/** A workflow that is being done. Left: `workflow_state`, or what the store refuses. */
export interface Workflow {
  /** Another one each time that it begins anew. */
  readonly id: string
  readonly root: string
  /** What is known of a step that is to be asked now; notes that it is asked. */
  readonly begin: (step: number, to: string, digest: string) => TE.TaskEither<Failure, Begun>
  /**
   * What became of that attempt. `keeps`: it is the answer of the step from now on; else the step is asked anew when the
   * workflow goes on. Of an attempt that another process has left behind already, nothing is noted.
   */
  readonly note: (step: number, attempt: number, envelope: Envelope, keeps: boolean) => TE.TaskEither<Failure, void>
  /** All of it was answered: it is kept for a day. */
  readonly end: TE.TaskEither<Failure, void>
}

export type Begun =
  | { readonly kind: 'answered'; readonly envelope: Envelope }
  /** `resumed`: it was under way when the workflow was interrupted, so it may run or have run. */
  | { readonly kind: 'ask'; readonly attempt: number; readonly resumed: boolean }

export interface Opening {
  readonly name: string
  readonly input: Input
  readonly fresh: boolean
  /** For one that begins. */
  readonly newId: string
  /** For one that is to go on under another root than before. */
  readonly root: string | undefined
}

/** Finds the record of this name and input, or begins one. */
export const openWorkflow = (store: Store, now: () => number, opening: Opening): TE.TaskEither<Failure, Workflow> =>
  pipe(
    store.write(sql => open(sql, opening, now())),
    TE.chainEitherK(found => found),
    TE.map(({ id, root }) => workflowOf(store, now, opening.name, id, root)),
  )

const open = (
  sql: Sql,
  { name, input, fresh, newId, root }: Opening,
  nowMs: number,
): E.Either<Failure, Pick<Workflow, 'id' | 'root'>> => {
  sql.run('DELETE FROM workflows WHERE endedAtMs <= ? OR touchedAtMs <= ?', nowMs - endedForMs, nowMs - openForMs)
  if (fresh) sql.run('DELETE FROM workflows WHERE name = ?', name)
  sql.run('DELETE FROM workflowSteps WHERE workflow NOT IN (SELECT id FROM workflows)')
  const found = sql.one(workflowRow, 'SELECT id, root, input FROM workflows WHERE name = ?', name)
  if (found === undefined) {
    const begun = { id: newId, root: root ?? newId }
    sql.run(
      'INSERT INTO workflows (name, id, root, input, touchedAtMs) VALUES (?, ?, ?, ?, ?)',
      ...[name, begun.id, begun.root, JSON.stringify(input), nowMs],
    )
    return E.right(begun)
  }
  return pipe(
    fits(name, found.input, input),
    E.map(() => {
      sql.run(
        'UPDATE workflows SET touchedAtMs = ?, root = coalesce(?, root) WHERE name = ?',
        nowMs,
        root ?? null,
        name,
      )
      return { id: found.id, root: root ?? found.root }
    }),
  )
}

const workflowOf = (store: Store, now: () => number, name: string, id: string, root: string): Workflow => ({
  id,
  root,
  begin: (step, to, digest) =>
    pipe(
      store.write(sql => begin(sql, name, id, step, to, digest)),
      TE.chainEitherK(begun => begun),
    ),
  note: (step, attempt, envelope, keeps) =>
    store.write(sql => {
      sql.run(
        `UPDATE workflowSteps SET state = ?, envelope = ?
         WHERE workflow = ? AND step = ? AND attempt = ? AND state <> 'answered'`,
        ...[keeps ? 'answered' : 'failed', keeps ? JSON.stringify(envelope) : null, id, step, attempt],
      )
      sql.run('UPDATE workflows SET touchedAtMs = ?, endedAtMs = NULL WHERE id = ?', now(), id)
    }),
  end: store.write(sql => {
    sql.run('UPDATE workflows SET endedAtMs = coalesce(endedAtMs, ?) WHERE id = ?', now(), id)
  }),
})

const begin = (
  sql: Sql,
  name: string,
  id: string,
  step: number,
  to: string,
  digest: string,
): E.Either<Failure, Begun> => {
  const found = sql.one(
    stepRow,
    'SELECT digest, attempt, state, envelope FROM workflowSteps WHERE workflow = ? AND step = ?',
    id,
    step,
  )
  if (found !== undefined && found.state !== 'failed' && found.digest !== digest)
    return E.left(workflowFailure(name, `does not fit its record: step ${step + 1} asks something else than before`))
  if (found?.state === 'answered') {
    return pipe(
      keptAnswer(name, step, to, found.envelope ?? ''),
      E.map((envelope): Begun => ({ kind: 'answered', envelope })),
    )
  }
  const resumed = found?.state === 'asked'
  const attempt = found === undefined ? 1 : found.attempt + (resumed ? 0 : 1)
  sql.run(
    `INSERT INTO workflowSteps (workflow, step, digest, attempt, state) VALUES (?, ?, ?, ?, 'asked')
     ON CONFLICT (workflow, step) DO UPDATE SET digest = excluded.digest, attempt = excluded.attempt, state = 'asked'`,
    ...[id, step, digest, attempt],
  )
  return E.right({ kind: 'ask', attempt, resumed })
}

const workflowRow = t.type({ id: textColumn, root: textColumn, input: textColumn })

const stepRow = t.intersection([
  t.type({
    digest: textColumn,
    attempt: countColumn,
    state: t.union([t.literal('asked'), t.literal('answered'), t.literal('failed')]),
  }),
  t.partial({ envelope: textColumn }),
])
