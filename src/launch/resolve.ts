import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Target } from '../client/delegate.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { State } from './state.ts'

/** How long an instance that starts or ends may take. */
const changingMs = 15_000
const lookEveryMs = 50

export interface ResolveOptions {
  /** How long a name that nobody has may take to appear: another host may be about to take it over. */
  readonly absentMs: number
  /** An address that has just turned out to be nobody's. */
  readonly except?: string
  readonly signal?: AbortSignal
}

/** Where an instance listens: waits while it starts, ends or changes its host. */
export const resolve =
  (state: State, name: string, { absentMs, except, signal }: ResolveOptions): TE.TaskEither<Failure, Target> =>
  async () => {
    let sinceMs = state.where.now()
    let wasAbsent: boolean | undefined
    for (;;) {
      const listed = await state.registry.list()()
      if (E.isLeft(listed)) return listed
      const entry = listed.right.find(one => one.name === name && one.life !== 'dead')
      if (entry?.life === 'elsewhere') {
        return E.left(
          failure(
            'instance_unavailable',
            `${name} runs in process ${entry.pid} of another container or pid namespace, which cannot be reached from here.`,
          ),
        )
      }
      if (entry?.url !== undefined && entry.url !== except) return E.right({ name, url: entry.url })
      const isAbsent = entry === undefined
      if (wasAbsent !== isAbsent) sinceMs = state.where.now()
      wasAbsent = isAbsent
      if (signal?.aborted || state.where.now() - sinceMs >= (isAbsent ? absentMs : changingMs)) break
      await pause(lookEveryMs)
    }
    return E.left(notRunning(name, state))
  }

const notRunning = (name: string, { inside }: State): Failure =>
  failure(
    'instance_unavailable',
    inside === undefined
      ? `${name} does not run. Launch it: errand up ${name}.`
      : `${name} does not run, and a turn launches nothing. Ask the operator to run: errand up ${name}.`,
  )
