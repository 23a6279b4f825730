import * as E from 'fp-ts/lib/Either.js'
import { loadInstances } from '../config/load.ts'
import type { Hosting } from './hosting.ts'
import { recover } from './recover.ts'
import type { Relieved } from './relief.ts'
import type { State } from './state.ts'

const pollMs = 200
/** How long turns have to end when a person asks by `errand stop`. */
const askedGraceMs = 10_000

/** Looks from time to time what others want of this host, and what has become of the instances that it relies on. */
export interface Watch {
  /** Resolves when no look is under way any more. */
  readonly stop: () => Promise<void>
}

export interface Watched {
  /** Instances of other hosts, that are hosted here when their own host goes away. */
  readonly borrowed: Set<string>
  /** Told after some of its own have ended. */
  readonly onEnded: () => void
  readonly relieved?: Relieved
  readonly tell?: (sentence: string) => void
}

/**
 * Ends what a person asked to stop, hands over what another host has taken over, ends turns for those who asked another
 * process to, and hosts what is left of `borrowed`.
 */
export const watch = (state: State, hosting: Hosting, watched: Watched): Watch => {
  const { borrowed, relieved } = watched
  const sinceMs = state.where.now()
  const ending = new Set<string>()
  let looking: Promise<void> | undefined
  const look = async () => {
    await letGo(state, hosting, ending, watched)
    if (hosting.draining.size > 0) await hosting.endAsked()
    await relieved?.look()
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
const letGo = async (
  { registry }: State,
  hosting: Hosting,
  ending: Set<string>,
  { onEnded, tell }: Watched,
): Promise<void> => {
  const { owner } = hosting.owner
  const own = await registry.own(owner)()
  if (E.isLeft(own)) return hosting.log('registry unread', { reason: own.left.sentence }, 'warn')
  // Whoever took it over failed, and gave it back too late.
  const returned = own.right
    .map(({ name }) => name)
    .filter(name => hosting.handedOver.has(name) && !hosting.served.has(name))
  if (returned.length > 0) await registry.release(owner, returned)()
  const kept = new Set(own.right.filter(({ stopping }) => !stopping).map(({ name }) => name))
  const names = [...hosting.served.keys()].filter(name => !kept.has(name) && !ending.has(name))
  if (names.length === 0) return
  const listed = await registry.list()()
  if (E.isLeft(listed)) return
  const heirs = listed.right.filter(({ name, owner: heir }) => names.includes(name) && heir !== owner)
  const taken = heirs.map(({ name }) => name)
  const stopped = names.filter(name => !taken.includes(name))
  for (const name of names) ending.add(name)
  const end = async (these: readonly string[], how: Promise<void>) => {
    await how
    for (const name of these) ending.delete(name)
    onEnded()
  }
  if (stopped.length > 0) {
    hosting.log('asked to stop', { instances: stopped.join(', ') })
    void end(stopped, hosting.end(stopped, askedGraceMs))
  }
  for (const { name, pid } of heirs) {
    hosting.log('taken over', { instance: name, by: pid })
    tell?.(`${name} was taken over by process ${pid}; what this one still runs of it is answered here.`)
  }
  if (taken.length > 0) void end(taken, hosting.handOver(taken))
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
