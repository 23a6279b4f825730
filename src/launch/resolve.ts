import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Target } from '../client/target.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Registered } from './registry.ts'
import type { State } from './state.ts'

/** How long an instance that starts or ends may take. */
const changingMs = 15_000
/** How long an entry may stand whose address is nobody's: its host died just now, or withdraws it just now. */
const staleMs = 500
const lookEveryMs = 50

export interface ResolveOptions {
  /** How long a name that nobody has may take to appear: another host may be about to take it over. */
  readonly absentMs: number
  /** An address that has just turned out to be nobody's. */
  readonly except?: string
  readonly signal?: AbortSignal
}

export interface Unresolved {
  readonly why: Failure
  /** Nobody has the name, so it can be launched. */
  readonly absent: boolean
}

/** Where an instance listens: waits while it starts, ends or changes its host. */
export const resolve =
  (state: State, name: string, { absentMs, except, signal }: ResolveOptions): TE.TaskEither<Unresolved, Target> =>
  async () => {
    const patienceMs = { absent: absentMs, changing: changingMs, stale: staleMs }
    let waitedMs = stopwatch()
    let before: keyof typeof patienceMs | undefined
    for (;;) {
      const listed = await state.registry.list()()
      if (E.isLeft(listed)) return E.left({ why: listed.left, absent: false })
      const entry = listed.right.find(one => one.name === name && one.life !== 'dead')
      if (entry?.life === 'elsewhere') return E.left({ why: unseen(entry), absent: false })
      if (entry?.url !== undefined && entry.url !== except) return E.right({ name, url: entry.url })
      const now = entry === undefined ? 'absent' : entry.url === undefined ? 'changing' : 'stale'
      if (now !== before) waitedMs = stopwatch()
      before = now
      if (signal?.aborted || waitedMs() >= patienceMs[now]) {
        return E.left({ why: notRunning(name, entry, state), absent: now === 'absent' })
      }
      await pause(lookEveryMs)
    }
  }

const unseen = ({ name, pid }: Registered): Failure =>
  failure(
    'instance_unavailable',
    `${name} runs in process ${pid} of another container or pid namespace, which cannot be reached from here.`,
  )

const notRunning = (name: string, entry: Registered | undefined, { inside }: State): Failure => {
  const why =
    entry === undefined ? `${name} does not run` : `${name} is claimed by process ${entry.pid} and does not answer`
  return failure(
    'instance_unavailable',
    inside === undefined
      ? `${why}. Launch it: errand up ${name}.`
      : `${why}, and a turn launches nothing. Ask the operator to run: errand up ${name}.`,
  )
}
