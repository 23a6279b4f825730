import { pipe } from 'fp-ts/lib/function.js'
import * as T from 'fp-ts/lib/Task.js'
import { reachOf } from '../config/reach.ts'
import type { Envelope } from '../protocol/envelope.ts'
import type { Failure } from '../protocol/failure.ts'
import type { State } from './state.ts'
import { type Ask, type Launcher, launcherFor, talkWith } from './talk.ts'

/** Where several talks are made as one piece of work: a state folder that is open, and the way to talk there. */
export interface Site {
  readonly state: State
  readonly talk: (ask: Ask) => T.Task<Envelope>
  /** Why nothing is done there any more. */
  readonly refusal: () => Failure | undefined
}

/** For the command line: what these talks need is launched once, by the first of them, and ends with `state.close()`. */
export const siteFor = (
  state: State,
  names: readonly string[],
  options: Pick<Ask, 'signal' | 'verbose' | 'onEvent'>,
): Site => {
  const reached = [...new Set(names.flatMap(name => reachOf(state.config, name)))]
  const launcher = oneAtATime(launcherFor(state, reached, options))
  return {
    state,
    refusal: () => undefined,
    talk: ask =>
      pipe(
        talkWith(launcher)(state, { ...options, ...ask }),
        T.map(({ envelope }) => envelope),
      ),
  }
}

const oneAtATime = (launcher: Launcher): Launcher => {
  let under: ReturnType<Launcher> | undefined
  return () => {
    under ??= launcher().finally(() => {
      under = undefined
    })
    return under
  }
}

const sites = new WeakMap<object, Site>()

/** Notes what a bus of a script stands on. */
export const noteSite = (bus: object, site: Site): void => {
  sites.set(bus, site)
}

/** What a bus of a script stands on; `undefined` where it is none that `launch` gave. */
export const siteOf = (bus: unknown): Site | undefined =>
  typeof bus === 'object' && bus !== null ? sites.get(bus) : undefined
