import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'
import type { Sql } from './sql.ts'

/**
 * The SQLite file of one state folder, shared by every process on it. Queries are synchronous, so that nothing can be
 * awaited in the middle of one; what they throw is rolled back. A query may run more than once, when the file is locked.
 *
 * Left: `session_state` (damaged, foreign, newer, deleted or replaced), `write_permission`, or `internal_error` (locked,
 * full, input/output).
 */
export interface Store {
  readonly file: string
  readonly read: <A>(query: (sql: Sql) => A) => TE.TaskEither<Failure, A>
  /** One transaction: all of it is on the disk when it is right, nothing when it is left. */
  readonly write: <A>(change: (sql: Sql) => A) => TE.TaskEither<Failure, A>
  /** Whether it can be read now and, where the last change was refused, whether one could be made. Answers within a second. */
  readonly sound: () => TE.TaskEither<Failure, void>
  readonly close: () => void
}
