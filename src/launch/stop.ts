import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Mistakes } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { stopwatch } from '../process/stopwatch.ts'
import type { Failure } from '../protocol/failure.ts'
import { recover } from './recover.ts'
import type { Registered } from './registry.ts'
import type { State } from './state.ts'

export interface Stopped {
  /** Ended now. */
  readonly stopped: readonly string[]
  /** Asked, but not gone within the time. */
  readonly still: readonly string[]
  /** Entries of dead processes, or (where they were named) of processes that cannot be seen from here, that were dropped. */
  readonly forgotten: readonly string[]
}

const lookEveryMs = 50

/** `errand stop [NAME…]`: asks their hosts, and waits at most `waitMs`. No names: every instance that runs. */
export const stopInstances = (
  state: State,
  names: readonly string[],
  waitMs: number,
): TE.TaskEither<Mistakes, Stopped> =>
  pipe(
    state.registry.list(),
    TE.mapLeft((why): Mistakes => [why]),
    TE.chainFirstEitherK(entries => known(state, names, entries)),
    TE.chainW(entries => {
      const meant = entries.filter(({ name }) => names.length === 0 || names.includes(name))
      return pipe(
        stop(state, meant, names, waitMs),
        TE.mapLeft((why): Mistakes => [why]),
      )
    }),
  )

const known = (
  { config }: State,
  names: readonly string[],
  entries: readonly Registered[],
): E.Either<Mistakes, void> => {
  const unknown = names.filter(name => !config.instances.has(name) && !entries.some(entry => entry.name === name))
  return unknown.length > 0 ? E.left(unknown.map(name => noSuchInstance(config, name))) : E.right(undefined)
}

const stop = (
  state: State,
  meant: readonly Registered[],
  names: readonly string[],
  waitMs: number,
): TE.TaskEither<Failure, Stopped> => {
  const alive = meant.filter(({ life }) => life === 'alive').map(({ name }) => name)
  const unseen = meant.filter(({ life, name }) => life === 'elsewhere' && names.includes(name))
  const dead = meant.filter(({ life }) => life === 'dead')
  return pipe(
    state.registry.askToStop(alive, state.where.now()),
    TE.chain(() => recover(state)),
    TE.chain(() => TE.traverseArray((entry: Registered) => forget(state, entry))(unseen)),
    TE.chain(() => untilGone(state, alive, waitMs)),
    TE.map(still => ({
      stopped: alive.filter(name => !still.includes(name)),
      still,
      forgotten: [...dead, ...unseen].map(({ name }) => name),
    })),
  )
}

/** Its host, should it live after all, sees that the name is no longer its own, and ends the instance. */
const forget = ({ registry }: State, { owner, name }: Registered): TE.TaskEither<Failure, void> =>
  pipe(
    registry.release(owner, [name]),
    TE.chain(() => registry.own(owner)),
    TE.chain(left => (left.length === 0 ? registry.leave(owner) : TE.right(undefined))),
  )

const untilGone =
  (state: State, names: readonly string[], waitMs: number): TE.TaskEither<Failure, readonly string[]> =>
  async () => {
    const waitedMs = stopwatch()
    for (;;) {
      const listed = await state.registry.list()()
      if (E.isLeft(listed)) return listed
      const left = names.filter(name => listed.right.some(entry => entry.name === name && entry.life === 'alive'))
      if (left.length === 0 || waitedMs() >= waitMs) return E.right(left)
      await pause(lookEveryMs)
    }
  }
