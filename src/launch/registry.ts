import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Failure } from '../protocol/failure.ts'

/** An instance that some process of this state folder has claimed. */
export interface Registered {
  readonly name: string
  readonly engine: string
  readonly owner: string
  readonly pid: number
  /** `undefined`: claimed, does not listen yet (or any more). */
  readonly url: string | undefined
  readonly life: 'alive' | 'dead' | 'elsewhere'
  /** A person asked it to stop. */
  readonly stopping: boolean
}

/** One live owner per instance name, in the tables of the store. */
export interface Registry {
  readonly list: () => TE.TaskEither<Failure, readonly Registered[]>
}
