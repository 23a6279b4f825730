import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { refusedReply } from '../client/reply.ts'
import type { Config, Mistakes } from '../config/config.ts'
import { type BudgetsJson, configOfObject } from '../config/config-object.ts'
import { readConfig } from '../config/find.ts'
import { type Surroundings, surroundings } from '../config/surroundings.ts'
import type { Envelope } from '../protocol/envelope.ts'
import { failure } from '../protocol/failure.ts'
import type { ProgressEvent } from '../protocol/progress.ts'
import type { Hosted } from './hosted.ts'
import { insideTurn } from './inside.ts'
import { chosen, launchMissing } from './launch.ts'
import { onSignals } from './on-signals.ts'
import { resolve } from './resolve.ts'
import type { Running } from './running.ts'
import { noteSite } from './site.ts'
import { openState, type State } from './state.ts'
import { type Ask, asOne, talkWith } from './talk.ts'
import { checkTalkOptions } from './talk-options.ts'

export interface LaunchScope {
  /** Names of instances; all of the config unless told. One that is disabled answers `bus_disabled`. */
  readonly only?: readonly string[]
}

export interface TalkOptions {
  /**
   * Who speaks: a name that the target's `peers` allow, or `operator`, who may talk to all. Default: `operator`.
   * (protocol, "Request Shape", `fromInstance`)
   */
  readonly from?: string
  /** The caller's own depth, an integer from 0; the wire carries one more. Default: 0. (protocol, "Request Shape") */
  readonly depth?: number
  /** Milliseconds, above 0 and at most 24 days, for all of the call; past it the turn is ended and the answer is `timeout`. Default: none. */
  readonly timeoutMs?: number
  /** Aborted: the turn is ended, and the answer is `cancelled`. */
  readonly signal?: AbortSignal
  /**
   * Repeats at most so often, an integer from 0: only where nothing was sent, or where the answer says `retryable`
   * (protocol, "Retry Semantics"). Default: 0.
   */
  readonly retry?: number
  /**
   * Goes on with the conversation of this name between `from` and this instance: the same session of its provider, one talk
   * after another, also after a restart. 1 to 100 letters, digits and `._:/-`. A session that the CLI has lost begins anew, and
   * `ext.warning` says so. `invalid_request` where the engine keeps no sessions.
   */
  readonly thread?: string
  /**
   * The same talk under the same key runs once: a second one joins the first or gets its answer, for 24 hours; another talk
   * under it is `idempotency_conflict`. 1 to 200 visible ASCII characters. With `retry`, a key is made unless given.
   */
  readonly idempotencyKey?: string
  /**
   * Called for each thing that happens meanwhile, in order: `accepted`, `started`, then `tool`, `text`, `spend` and `retry` as
   * they come; a repetition begins anew at `accepted`. An event may be left out (`id` then has a gap) where the script is
   * slower than the turn. An instance of an older version tells none. What it throws is an uncaught exception; the talk goes on.
   */
  readonly onProgress?: (event: ProgressEvent) => void
}

/** Instances that listen, and the way to talk to them. */
export interface Bus {
  /** Where they listened when they were launched: `name`, `engine`, `url` (`http://127.0.0.1:PORT`), `pid`. */
  readonly instances: readonly Running[]
  /**
   * Sends one talk and resolves to its v1 envelope (protocol, "Response Shape"): `success: true` with `text`, or
   * `success: false` with `error`, `errorCode` and `retryable`. Never rejects for a talk that failed.
   *
   * `prompt`: not blank, at most `bus.bodyLimit` (1 MiB) as JSON.
   */
  readonly talk: (name: string, prompt: string, options?: TalkOptions) => Promise<Envelope>
  /**
   * Ends what this script launched: no new talks, 10 s for turns to end by themselves, then they are ended with everything
   * they started. Instances of other processes go on. Never rejects; a second call awaits the first.
   */
  readonly stop: () => Promise<void>
}

/**
 * Launches the instances of a `budgets.json` (its path from the current folder, or its content as an object) in this
 * process; those that already run on the same state folder are used as they are. An object stands for a budgets.json in the
 * current folder.
 *
 * Rejects with an `Error` whose message lists everything that is wrong, one sentence a line: mistakes in the config, an
 * engine that cannot be loaded, a port that is taken, a state folder that refuses; then nothing was started. Inside a turn
 * it rejects too: a turn launches nothing.
 *
 * The process stays alive until `stop()`. SIGINT, SIGTERM and SIGHUP stop the bus first; listeners of the script itself are
 * left alone, and without any the signal then ends the process as usual.
 */
export const launch = async (config: string | BudgetsJson, scope: LaunchScope = {}): Promise<Bus> => {
  const where = surroundings()
  const inside = insideTurn(where)
  if (inside !== undefined) {
    throw new Error(
      `This runs inside turn ${inside.mark.split(':').at(-1)}: a turn launches nothing. Use \`errand talk\`.`,
    )
  }
  const opened = await open(config, where)()
  if (E.isLeft(opened)) throw listed(opened.left)
  const started = await start(opened.right, scope)()
  if (E.isRight(started)) return started.right
  await opened.right.close()
  throw listed(started.left)
}

const listed = (mistakes: Mistakes): Error => new Error(mistakes.map(({ sentence }) => sentence).join('\n'))

const open = (config: unknown, where: Surroundings): TE.TaskEither<Mistakes, State> =>
  typeof config === 'string'
    ? pipe(
        readConfig(config, where),
        TE.chain(read => stateOf(read, where)),
      )
    : pipe(
        TE.fromEither(configOfObject(config, where)),
        TE.chain(made =>
          pipe(
            stateOf(made.config, where),
            TE.chainFirst(state =>
              pipe(
                made.keep,
                TE.orElseFirstTaskK(() => state.close),
                TE.mapLeft((why): Mistakes => [why]),
              ),
            ),
          ),
        ),
      )

const stateOf = (config: Config, where: Surroundings): TE.TaskEither<Mistakes, State> =>
  pipe(
    openState(config, where),
    TE.mapLeft((why): Mistakes => [why]),
  )

const stopGraceMs = 10_000
const signalGraceMs = 500

const start =
  (state: State, { only }: LaunchScope): TE.TaskEither<Mistakes, Bus> =>
  async () => {
    const wanted = chosen(state.config, only)
    if (E.isLeft(wanted)) return wanted
    const names = wanted.right.map(({ name }) => name)
    const hosts: Hosted[] = []
    const launcher = pipe(
      launchMissing(state, names, {}),
      TE.map(hosted => hosts.push(...(hosted === undefined ? [] : [hosted]))),
      TE.asUnit,
    )
    const launched = await launcher()
    if (E.isLeft(launched)) return launched
    const instances = await running(state, names)
    let stopped: Promise<void> | undefined
    const end = async (graceMs: number) => {
      await Promise.all(hosts.map(hosted => hosted.stop(graceMs)))
      await state.close()
      signals.off()
    }
    const signals = onSignals(() => {
      // Also when `stop` is under way: a shorter grace shortens that one.
      const shortened = Promise.all(hosts.map(hosted => hosted.stop(signalGraceMs)))
      stopped ??= end(signalGraceMs)
      return Promise.all([shortened, stopped])
    })
    const send = async (ask: Ask): Promise<Envelope> => {
      if (stopped !== undefined) return refusedReply(hasStopped, ask.name).envelope
      const again = names.includes(ask.name) ? pipe(launcher, TE.mapLeft(asOne)) : undefined
      return (await talkWith(again)(state, ask)()).envelope
    }
    const bus: Bus = {
      instances,
      talk: async (name, prompt, options = {}) => {
        const sound = checkTalkOptions(name, options)
        return E.isLeft(sound) ? refusedReply(sound.left, String(name)).envelope : send({ ...options, name, prompt })
      },
      stop: () => {
        stopped ??= end(stopGraceMs)
        return stopped
      },
    }
    noteSite(bus, {
      state,
      talk: ask => () => send(ask),
      refusal: () => (stopped === undefined ? undefined : hasStopped),
    })
    return E.right(bus)
  }

/** As the registry has them, those of other processes too. */
const running = async (state: State, names: readonly string[]): Promise<readonly Running[]> => {
  await Promise.all(names.map(name => resolve(state, name, { absentMs: startingMs })()))
  const listed = await state.registry.list()()
  return E.isLeft(listed)
    ? []
    : listed.right.flatMap(({ name, engine, url, pid }) =>
        url !== undefined && names.includes(name) ? [{ name, engine, url, pid }] : [],
      )
}

const startingMs = 1500
const hasStopped = failure('instance_unavailable', 'This bus was stopped: launch it again.')
