import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Mistakes } from '../config/config.ts'
import type { Loaded } from '../config/load.ts'
import { type Hosting, hostingOf, longestGraceMs } from './hosting.ts'
import { openLog } from './log.ts'
import { prepareFolder } from './prepare-folder.ts'
import type { Owner } from './registry.ts'
import type { Relief, Relieved } from './relief.ts'
import type { Running } from './running.ts'
import type { State } from './state.ts'
import { type Watch, watch } from './watch.ts'

/** Instances that this process hosts. */
export interface Hosted {
  /** As it is now: one whose host went away may have joined. */
  readonly instances: readonly Running[]
  /** What is unwise but no mistake; whole sentences. */
  readonly warnings: readonly string[]
  /** Whose place it took. */
  readonly relieved?: Relieved
  /** Ends all of them as soon as nothing runs or waits on any; nobody's talk is refused or cut by that. */
  readonly stopWhenIdle: () => Promise<void>
  /**
   * Withdraws the entries, refuses new talks, lets turns end within `graceMs`, ends them, settles. A second call with a
   * shorter grace shortens the first one's.
   */
  readonly stop: (graceMs: number) => Promise<void>
  /** Resolves when all are stopped: by `stop`, or since `errand stop` asked for each of them. */
  readonly stopped: Promise<void>
}

export interface HostOptions {
  readonly borrowed: readonly string[]
  readonly verbose: boolean
  /** What was claimed was taken over from others, by this; given back on a failure. */
  readonly relief?: Relief
  /** Hears what befalls the host, in whole sentences. */
  readonly tell?: (sentence: string) => void
}

/** Serves what was claimed for `owner`; on a failure all is undone. */
export const host = (
  state: State,
  owner: Owner,
  loaded: readonly Loaded[],
  options: HostOptions,
): TE.TaskEither<Mistakes, Hosted> =>
  pipe(
    prepareFolder(state.config, state.where),
    TE.bindTo('folders'),
    TE.bind('log', () =>
      TE.fromTask(() => openLog(state.config.stateFolder, options.verbose ? process.stderr : undefined)),
    ),
    TE.bimap(
      (why): Mistakes => [why],
      ({ folders, log }) => hostingOf(state, owner, folders, log),
    ),
    TE.chainFirst(hosting =>
      pipe(
        hosting.add(loaded, options.relief),
        TE.orElse(failed => async () => {
          await options.relief?.giveBack()
          await hosting.leave()
          return E.left(failed)
        }),
      ),
    ),
    TE.orElseFirstTaskK(() => async () => {
      await options.relief?.giveBack()
      await state.registry.leave(owner.owner)()
    }),
    TE.map(hosting => hostedOf(state, hosting, loaded, options)),
  )

const hostedOf = (
  state: State,
  hosting: Hosting,
  loaded: readonly Loaded[],
  { borrowed, relief, tell }: HostOptions,
): Hosted => {
  const { served, draining } = hosting
  const relieved = relief?.watch(hosting.served)
  const finished = Promise.withResolvers<void>()
  let finishing = false
  const finish = async (watching: Watch) => {
    if (finishing || served.size + draining.size > 0) return
    finishing = true
    await watching.stop()
    // Taken over while the watch was told to stop.
    if (served.size > 0) await hosting.end([...served.keys()], longestGraceMs)
    await hosting.leave()
    finished.resolve()
  }
  const endIdle = async () => {
    while (served.size > 0) {
      if (!(await hosting.endIfIdle())) await Promise.all([...served.values()].map(one => one.idle()))
    }
  }
  const drained = async () => {
    while (draining.size > 0) await Promise.all(draining.values())
  }
  const watching = watch(state, hosting, {
    borrowed: new Set(borrowed),
    onEnded: () => void finish(watching),
    ...(relieved === undefined ? {} : { relieved }),
    ...(tell === undefined ? {} : { tell }),
  })
  return {
    ...(relieved === undefined ? {} : { relieved }),
    get instances() {
      return [...served.values()].map(({ instance, url }) => ({
        name: instance.name,
        engine: instance.settings.engine.name,
        url,
        pid: state.where.pid,
      }))
    },
    warnings: [
      ...state.config.warnings,
      ...shortSecret(state),
      ...loaded.flatMap(({ lacks }) => lacks.map(({ sentence }) => sentence)),
    ],
    stopWhenIdle: async () => {
      // Until then it may take over what a talk of others needs; and what it takes over last ends too.
      await endIdle()
      await drained()
      await watching.stop()
      await endIdle()
      await drained()
      await finish(watching)
    },
    stop: async graceMs => {
      await watching.stop()
      await Promise.all([
        hosting.end([...served.keys()], graceMs),
        ...[...draining.keys()].map(one => one.stop(graceMs)),
      ])
      await drained()
      await finish(watching)
      await finished.promise
    },
    stopped: finished.promise,
  }
}

const shortSecret = ({ secret }: State): readonly string[] =>
  secret !== undefined && secret.length < 16
    ? ['ERRAND_SECRET is short enough to be guessed: give it 16 characters or more.']
    : []
