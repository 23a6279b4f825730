import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Mistakes } from '../config/config.ts'
import type { Hosted } from './hosted.ts'
import type { LaunchOptions } from './launch.ts'
import { nothingToLaunch } from './nothing-to-launch.ts'
import type { State } from './state.ts'

/** Launches what of these does not run. What hosts instances is large: a talk to those that run does not load it. */
export const launchLazily = (
  state: State,
  names: readonly string[],
  options: LaunchOptions,
): TE.TaskEither<Mistakes, Hosted | undefined> =>
  pipe(
    nothingToLaunch(state, names),
    TE.mapLeft((why): Mistakes => [why]),
    TE.chain(nothing => async () => {
      if (nothing) return E.right(undefined)
      const { launchMissing } = await import('./launch.ts')
      return launchMissing(state, names, options)()
    }),
  )

/** Others may use what this talk launched, and are let finish; a person who gave up does not wait for them. */
export const endOf = async (hosted: Hosted, signal: AbortSignal | undefined): Promise<void> => {
  const givenUp = new Promise<'given up'>(resolve => {
    if (signal?.aborted) resolve('given up')
    signal?.addEventListener('abort', () => resolve('given up'), { once: true })
  })
  if ((await Promise.race([givenUp, hosted.stopWhenIdle()])) === 'given up') await hosted.stop(givenUpGraceMs)
}

const givenUpGraceMs = 500
