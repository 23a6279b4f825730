import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { checkPorts } from '../config/check-ports.ts'
import type { InstanceConfig, Mistakes } from '../config/config.ts'
import { type Loaded, loadInstances } from '../config/load.ts'
import { type Hosted, host } from './hosted.ts'
import { newOwner } from './hosting.ts'
import { chosen, claimsOf, isTaken, type LaunchOptions, standing } from './launch.ts'
import type { Registered } from './registry.ts'
import { reliefOf } from './relief.ts'
import type { State } from './state.ts'

export interface TakeOverOptions extends LaunchOptions {
  /** How long another host has to give a port free; 13 s unless told. */
  readonly portFreeMs?: number
}

/**
 * `errand up --take-over`: hosts the instances here, those too that another process hosts. That one sees it, takes no new
 * talk, and answers what has come to it. What is wrong is told before anything is taken; on a failure half way it is given
 * back.
 */
export const takeOver = (state: State, options: TakeOverOptions): TE.TaskEither<Mistakes, Hosted> =>
  pipe(
    TE.fromEither(chosen(state.config, options.only)),
    TE.chain(wanted => checked(state, wanted)),
    TE.chain(loaded => {
      const owner = newOwner()
      return pipe(
        state.registry.takeOver(owner, claimsOf(state.config, loaded)),
        TE.mapLeft((why): Mistakes => [why]),
        TE.chain(({ from, inTheWay }) =>
          inTheWay.length > 0
            ? TE.left(inTheWay.map(isTaken))
            : host(state, owner, loaded, {
                borrowed: [],
                verbose: options.verbose === true,
                relief: reliefOf(state, owner, from, options.portFreeMs),
                ...(options.tell === undefined ? {} : { tell: options.tell }),
              }),
        ),
      )
    }),
  )

const checked =
  (state: State, wanted: readonly InstanceConfig[]): TE.TaskEither<Mistakes, readonly Loaded[]> =>
  async () => {
    const entries = await standing(state)()
    if (E.isLeft(entries)) return entries
    const [loaded, clashes] = await Promise.all([
      loadInstances(state.config, wanted, state.where)(),
      checkPorts(wanted.filter(one => !entries.right.some(isOnPortOf(one))))(),
    ])
    const mistakes = [...(E.isLeft(loaded) ? loaded.left : []), ...clashes]
    return E.isRight(loaded) && mistakes.length === 0 ? loaded : E.left(mistakes)
  }

/** Its own host listens there: that gives it free. */
const isOnPortOf =
  ({ name, port }: InstanceConfig) =>
  (entry: Registered): boolean =>
    entry.name === name && entry.url !== undefined && new URL(entry.url).port === String(port)
