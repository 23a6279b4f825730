import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { checkPorts } from '../config/check-ports.ts'
import type { Config, InstanceConfig, Mistakes } from '../config/config.ts'
import { type Loaded, loadInstances } from '../config/load.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { failure } from '../protocol/failure.ts'
import { type Hosted, host } from './hosted.ts'
import { newOwner } from './hosting.ts'
import { recover } from './recover.ts'
import type { Claim, Registered } from './registry.ts'
import type { State } from './state.ts'

export interface LaunchOptions {
  /** Hosts these. Without it, every instance: one that is disabled listens, and says so to whoever talks to it. */
  readonly only?: readonly string[]
  /** Log lines go to stderr too. */
  readonly verbose?: boolean
  /** Hears what befalls the host later on, in whole sentences. */
  readonly tell?: (sentence: string) => void
}

/**
 * `errand up`: hosts the instances here; one that already has a live owner is a mistake. Checks everything first and tells
 * all that is wrong at once; on a failure half way all is undone.
 */
export const launchHere = (state: State, options: LaunchOptions): TE.TaskEither<Mistakes, Hosted> =>
  pipe(
    TE.fromEither(chosen(state.config, options.only)),
    TE.chain(wanted => attempt(state, wanted, options)),
    TE.chainEitherK(({ hosted, taken }) => (hosted === undefined ? E.left(taken.map(isTaken)) : E.right(hosted))),
  )

/**
 * For a talk or a script: hosts here those that run nowhere yet, relies on the others, and hosts them too when their own
 * host goes away. `undefined`: all of them run elsewhere.
 */
export const launchMissing = (
  state: State,
  names: readonly string[],
  options: LaunchOptions,
): TE.TaskEither<Mistakes, Hosted | undefined> =>
  pipe(
    TE.fromEither(chosen(state.config, names)),
    TE.chain(wanted => share(state, wanted, options, shareTries)),
  )

const shareTries = 10

/** Between the look and the claim others may have claimed: then those run elsewhere, and the rest is looked at again. */
const share = (
  state: State,
  wanted: readonly InstanceConfig[],
  options: LaunchOptions,
  tries: number,
): TE.TaskEither<Mistakes, Hosted | undefined> =>
  pipe(
    standing(state),
    TE.chain((entries): TE.TaskEither<Mistakes, Hosted | undefined> => {
      const running = new Map(entries.map(entry => [entry.name, entry]))
      const strange = wanted.flatMap(({ name, engine }) => otherEngine(running.get(name), engine))
      if (strange.length > 0) return TE.left(strange)
      const missing = wanted.filter(({ name }) => !running.has(name))
      if (missing.length === 0) return TE.right(undefined)
      const borrowed = wanted.filter(({ name }) => running.has(name)).map(({ name }) => name)
      return pipe(
        attempt(state, missing, options, borrowed),
        TE.chain(({ hosted, taken }) =>
          hosted === undefined && tries > 1
            ? share(state, wanted, options, tries - 1)
            : hosted === undefined
              ? TE.left(taken.map(isTaken))
              : TE.right(hosted),
        ),
      )
    }),
  )

interface Attempted {
  readonly hosted?: Hosted
  readonly taken: readonly Registered[]
}

const attempt = (
  state: State,
  wanted: readonly InstanceConfig[],
  options: LaunchOptions,
  borrowed?: readonly string[],
): TE.TaskEither<Mistakes, Attempted> =>
  pipe(
    checked(state, wanted, borrowed !== undefined),
    TE.chain(loaded => {
      const owner = newOwner()
      return pipe(
        state.registry.claim(owner, claimsOf(state.config, loaded)),
        TE.mapLeft((why): Mistakes => [why]),
        TE.chain(taken =>
          taken.length > 0
            ? TE.right({ taken })
            : pipe(
                host(state, owner, loaded, {
                  borrowed: borrowed ?? [],
                  verbose: options.verbose === true,
                  ...(options.tell === undefined ? {} : { tell: options.tell }),
                }),
                TE.map((hosted): Attempted => ({ hosted, taken })),
              ),
        ),
      )
    }),
  )

/** Everything that can be known beforehand, all of it at once. Who shares does not mind a taken name: the claim tells it. */
const checked =
  (state: State, wanted: readonly InstanceConfig[], shares: boolean): TE.TaskEither<Mistakes, readonly Loaded[]> =>
  async () => {
    const [loaded, ports] = await Promise.all([
      loadInstances(state.config, wanted, state.where)(),
      checkPorts(wanted)(),
    ])
    // After the ports: whoever listens there by right has claimed the name before.
    const entries = await standing(state)()
    if (E.isLeft(entries)) return entries
    const names = new Set(wanted.map(({ name }) => name))
    const taken = entries.right.filter(({ name }) => names.has(name)).map(isTaken)
    // A port that the instance's own live host uses is no second mistake.
    const clashes = taken.length > 0 ? [] : ports
    const mistakes = [...(E.isLeft(loaded) ? loaded.left : []), ...clashes, ...(shares ? [] : taken)]
    return E.isRight(loaded) && mistakes.length === 0 ? loaded : E.left(mistakes)
  }

/** What is claimed by somebody who is not known to be dead. */
export const standing = (state: State): TE.TaskEither<Mistakes, readonly Registered[]> =>
  pipe(
    recover(state),
    TE.chain(() => state.registry.list()),
    TE.bimap(
      (why): Mistakes => [why],
      entries => entries.filter(({ life }) => life !== 'dead'),
    ),
  )

export const chosen = (
  { instances, file }: Config,
  only: readonly string[] | undefined,
): E.Either<Mistakes, readonly InstanceConfig[]> => {
  if (only === undefined) return E.right([...instances.values()])
  const unknown = [...new Set(only)].filter(name => !instances.has(name))
  if (unknown.length > 0) return E.left(unknown.map(name => noSuchInstance({ instances, file }, name)))
  return E.right([...instances.values()].filter(({ name }) => only.includes(name)))
}

export const claimsOf = ({ instances }: Config, loaded: readonly Loaded[]): readonly Claim[] =>
  loaded.map(({ instance: { name } }) => ({ name, engine: instances.get(name)?.engine ?? '' }))

export const isTaken = ({ name, pid, life }: Registered) =>
  failure(
    'instance_unavailable',
    life === 'elsewhere'
      ? `${name} is claimed by process ${pid} of another container or pid namespace, which cannot be seen from here. If it is gone, say \`errand stop ${name}\`.`
      : `${name} already runs in process ${pid}. Use it as it is, take its place (errand up --take-over ${name}), or end it (errand stop ${name}).`,
  )

const otherEngine = (entry: Registered | undefined, engine: string): Mistakes =>
  entry === undefined || entry.engine === engine
    ? []
    : [
        failure(
          'instance_unavailable',
          `${entry.name} already runs in process ${entry.pid} on the engine "${entry.engine}", not on "${engine}". End it: errand stop ${entry.name}.`,
        ),
      ]
