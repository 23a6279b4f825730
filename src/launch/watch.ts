import * as E from 'fp-ts/lib/Either.js'
import { loadInstances } from '../config/load.ts'
import type { Hosting } from './hosting.ts'
import { recover } from './recover.ts'
import type { State } from './state.ts'

const pollMs = 200
/** How long turns have to end when a person asks by `errand stop`. */
const askedGraceMs = 10_000

/** Looks from time to time what others want of this host, and what has become of the instances that it relies on. */
export interface Watch {
  /** Resolves when no look is under way any more. */
  readonly stop: () => Promise<void>
}

/**
 * Ends what a person asked to stop, and hosts those of `borrowed` whose own host went away. `onEnded` is told after some of
 * them have ended.
 */
export const watch = (state: State, hosting: Hosting, borrowed: Set<string>, onEnded: () => void): Watch => {
  const sinceMs = state.where.now()
  const ending = new Set<string>()
  let looking: Promise<void> | undefined
  const look = async () => {
    await endAsked(state, hosting, ending, onEnded)
    if (borrowed.size > 0) await adopt(state, hosting, borrowed, sinceMs)
  }
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }, pollMs)
  timer.unref()
  return {
    stop: async () => {
      clearInterval(timer)
      borrowed.clear()
      await looking
    },
  }
}

// Not waited for: turns may take their time to end, and the next look must not wait for them.
const endAsked = async (
  { registry }: State,
  hosting: Hosting,
  ending: Set<string>,
  onEnded: () => void,
): Promise<void> => {
  const own = await registry.own(hosting.owner.owner)()
  if (E.isLeft(own)) return hosting.log('registry unread', { reason: own.left.sentence }, 'warn')
  const kept = new Set(own.right.filter(({ stopping }) => !stopping).map(({ name }) => name))
  const names = [...hosting.served.keys()].filter(name => !kept.has(name) && !ending.has(name))
  if (names.length === 0) return
  for (const name of names) ending.add(name)
  hosting.log('asked to stop', { instances: names.join(', ') })
  void hosting.end(names, askedGraceMs).then(() => {
    for (const name of names) ending.delete(name)
    onEnded()
  })
}

const adopt = async (state: State, hosting: Hosting, borrowed: Set<string>, sinceMs: number): Promise<void> => {
  const listed = await state.registry.list()()
  if (E.isLeft(listed)) return
  const entries = new Map(listed.right.map(entry => [entry.name, entry]))
  for (const name of [...borrowed]) {
    const entry = entries.get(name)
    if (entry !== undefined && entry.life !== 'dead') {
      if (entry.stopping) borrowed.delete(name)
    } else if (await wasStopped(state, name, sinceMs)) borrowed.delete(name)
    else await takeOver(state, hosting, borrowed, name)
  }
}

const wasStopped = async ({ registry }: State, name: string, sinceMs: number): Promise<boolean> => {
  const atMs = await registry.stoppedAtMs(name)()
  return E.isLeft(atMs) || (atMs.right ?? 0) >= sinceMs
}

const takeOver = async (state: State, hosting: Hosting, borrowed: Set<string>, name: string): Promise<void> => {
  const config = state.config.instances.get(name)
  if (config === undefined) return
  await recover(state)()
  const loaded = await loadInstances(state.config, [config], state.where)()
  if (E.isLeft(loaded)) return
  const taken = await state.registry.claim(hosting.owner, [{ name, engine: config.engine }])()
  if (E.isLeft(taken) || taken.right.length > 0 || !borrowed.delete(name)) return
  const added = await hosting.add(loaded.right)()
  if (E.isLeft(added)) hosting.log('not adopted', { instance: name, reason: added.left[0]?.sentence }, 'warn')
  else hosting.log('adopted', { instance: name })
}
