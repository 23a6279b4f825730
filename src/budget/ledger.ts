import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { ProcessId } from '../process/process-id.ts'
import type { Failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { Allowance, Basis, Budget, Cost, Limits } from './budget.ts'
import type { Claimed, Keyed } from './requests.ts'
import type { ThreadEnd, ThreadSession } from './threads.ts'

/** A talk that asks to become a turn. */
export interface Entry {
  readonly turn: string
  /** The turn at the top of its chain; its own for a talk from outside. */
  readonly root: string
  /** The turn whose token made it; none for the operator's talks, which may wait without end. */
  readonly parent?: string
  readonly instance: string
  readonly from: string
  readonly depth: number
  /** The conversation of its sender that it goes on with. */
  readonly thread?: string
  readonly engine: string
  readonly model?: string
  /** The host (`hosts.owner`) that will run it. */
  readonly owner: string
  /** SHA-256 of its turn token, as hex. */
  readonly tokenDigest: string
  readonly limits: Limits
  readonly maxTurnsPerRoot: number
  /** How long it may run, and when it must be over in any case: the earlier is its deadline. Without either it has none. */
  readonly timeoutMs?: number
  readonly latestEndMs?: number
}

/** A slot, or those who come first; held money, of its instance or of all, or of its piece of work alone; its thread's turn. */
export type WaitsFor = 'slot' | 'money' | 'work' | 'thread'

/** `running`: the money is held, go; with the session that its thread goes on with. `waiting`: recorded. */
export type Entered =
  | { readonly state: 'running'; readonly allowance: Allowance; readonly resume?: ThreadSession }
  | { readonly state: 'waiting'; readonly for: WaitsFor }

/** How a turn ended, for its row. */
export interface Ended {
  readonly turn: string
  readonly cost: Cost
  readonly tokens: number
  /** `success`, or the code. */
  readonly outcome: string
  readonly error?: string
  readonly answer?: string
  readonly model?: string
  readonly session?: string
  /** For its thread, if it was on one; absent, that stays as it was. */
  readonly threadEnd?: ThreadEnd
}

/** What was charged in the end, and how full the fullest budget is now. */
export interface Settled {
  readonly microUsd: MicroUsd
  readonly basis: Basis
  /** Set from 80 % on: `Budget of worker: $0.8500 used of $1.00 (day).` */
  readonly warning?: string
}

/** What the idempotency key of a turn keeps (JSON) once that is settled; nothing sets the key free. */
export type Keeps = (settled: Settled) => string | undefined

/** A turn that a turn token proves. */
export interface ProvedTurn {
  readonly turn: string
  readonly root: string
  readonly instance: string
  readonly depth: number
  readonly owner: string
  /** When its time is up. */
  readonly deadlineAtMs?: number
}

/** A turn among those of its root. */
export interface Relative {
  readonly turn: string
  readonly parent?: string
  readonly instance: string
  readonly owner: string
  readonly state: 'waiting' | 'running' | 'ending' | 'done'
  /** `success` or the code, once it is done. */
  readonly outcome?: string
}

/** A turn that its host left open, and the process to look for. */
export interface OpenTurn {
  readonly turn: string
  readonly instance: string
  readonly process?: Pick<ProcessId, 'pid' | 'startTime'>
}

/**
 * Money and turns of one state folder, right with several processes on it. Every member is one transaction.
 * Left: `budget_exhausted`, `turns_exhausted` or `busy` by the rules; `auth_failed` when the parent does not run any more;
 * `cancelled` when one asks for its hold that waits no longer; `session_state`, `write_permission` or `internal_error`
 * when the store refuses (fail closed).
 */
export interface Ledger {
  /**
   * Admits an entry: refuses it, runs it (`slotFree` and money left), or records it as waiting
   * (`othersFirst`: not for a slot, but for those before it in line, who wait for themselves). One with a parent may wait
   * only if a turn that holds what it waits for has no unfinished child talk; else `busy`.
   */
  readonly enter: (entry: Entry, slotFree: boolean, othersFirst?: boolean) => TE.TaskEither<Failure, Entered>
  /** Tries again for one that waits and has its slot now. */
  readonly hold: (entry: Entry) => TE.TaskEither<Failure, Entered>
  /** Forgets one that waited and never ran. */
  readonly leave: (turn: string) => TE.TaskEither<Failure, void>
  readonly started: (turn: string, process: Pick<ProcessId, 'pid' | 'startTime'>) => TE.TaskEither<Failure, void>
  readonly seen: (turn: string, microUsd: MicroUsd, tokens: number) => TE.TaskEither<Failure, void>
  /** Its token dies with this. */
  readonly ending: (turn: string) => TE.TaskEither<Failure, void>
  /** Has the process that has this turn end it, on behalf of `by`; that process looks for it by `askedToEnd`. */
  readonly askToEnd: (turn: string, by: string) => TE.TaskEither<Failure, void>
  readonly askedToEnd: (
    owner: string,
  ) => TE.TaskEither<Failure, readonly { readonly turn: string; readonly by: string }[]>
  /** How many turns of an instance these owners still have waiting or running, until when those must be over. */
  readonly openOf: (
    owners: readonly string[],
    instance: string,
    queueTimeoutMs: number,
  ) => TE.TaskEither<Failure, number>
  /** Replaces the hold by the true cost, and closes its key. A second settle of a turn changes nothing. */
  readonly settle: (ended: Ended, keeps?: Keeps) => TE.TaskEither<Failure, Settled>
  /** Gives an idempotency key to a turn that is about to enter, or says whose it is. */
  readonly claim: (keyed: Keyed) => TE.TaskEither<Failure, Claimed>
  /** Sets a key free again, where its talk became no turn. */
  readonly unclaim: (turn: string) => TE.TaskEither<Failure, void>
  /** The turn that a token's digest belongs to, if that is `running`. */
  readonly proved: (tokenDigest: string) => TE.TaskEither<Failure, ProvedTurn | undefined>
  /** Unfinished turns with this parent. */
  readonly children: (parent: string) => TE.TaskEither<Failure, readonly string[]>
  /** All turns under the root of this one, itself too, oldest first; none where nobody knows it. */
  readonly family: (turn: string) => TE.TaskEither<Failure, readonly Relative[]>
  /** Turns that these dead owners left open; waiting ones are dropped. */
  readonly abandoned: (owners: readonly string[]) => TE.TaskEither<Failure, readonly OpenTurn[]>
  /** Settles turns that their host left open: at the hold, or at what had been seen if that is more. */
  readonly settleAbandoned: (turns: readonly string[]) => TE.TaskEither<Failure, void>
  /** Whether the store would take a change now, as far as can be told without one where the last one was taken. */
  readonly sound: () => TE.TaskEither<Failure, void>
}

/** One budget as it stands: `instance` is `*` for all instances together. */
export interface BudgetState {
  readonly instance: string
  readonly per: Budget['per']
  /** `total`, `2026-12-01` or `2026-12`. */
  readonly window: string
  readonly spentMicroUsd: MicroUsd
  readonly heldMicroUsd: MicroUsd
  /** The limit of the file and what was added in this window. */
  readonly limitMicroUsd?: MicroUsd
  readonly tokens: number
  readonly limitTokens?: number
  readonly turns: number
  readonly limitTurns?: number
  /** Turns of this window whose cost nobody can tell. */
  readonly unknownTurns: number
  /** Set from 80 % on, as in `Settled`. */
  readonly warning?: string
}

/** A turn, for people: `errand log`. Times are milliseconds since 1970. */
export interface TurnRecord {
  readonly turn: string
  readonly root: string
  readonly parent?: string
  readonly instance: string
  readonly from: string
  readonly depth: number
  readonly engine: string
  readonly model?: string
  readonly session?: string
  /** The conversation of its sender that it went on with. */
  readonly thread?: string
  readonly state: 'waiting' | 'running' | 'ending' | 'done'
  readonly createdAtMs: number
  readonly startedAtMs?: number
  readonly endedAtMs?: number
  readonly outcome?: string
  readonly error?: string
  readonly costMicroUsd?: MicroUsd
  readonly basis?: Basis
  /** What the operator gave back of its cost. */
  readonly forgivenMicroUsd?: MicroUsd
  readonly tokens: number
  /** Kept for 24 h, at most 256 KiB. */
  readonly answer?: string
}
