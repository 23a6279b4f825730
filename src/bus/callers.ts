import type { Envelope } from '../protocol/envelope.ts'
import type { Progress } from '../protocol/progress.ts'
import type { Tell } from './progress.ts'
import type { Waiter } from './waiter.ts'

/** Those who wait for one turn, and hear of it together. */
export interface Callers {
  readonly join: (waiter: Waiter) => void
  /** To be heard by all of them; whoever comes later hears where it stands. */
  readonly tell: Tell
  /** Aborts when nobody has waited for a while. */
  readonly allGone: AbortSignal
  readonly waitedFor: () => boolean
  /** It was answered. */
  readonly end: () => void
}

/** A talk that is carried out for all who sent it under one key. */
export interface Shared {
  readonly bodyDigest: string
  /** The turn that asked for it, and the one that it is. */
  readonly parent: string | undefined
  readonly turn: string
  readonly envelope: Promise<Envelope>
  /** Aborts when it is ended since nobody waited for it any more. */
  readonly allGone: AbortSignal
  /** One more waits for it. */
  readonly join: Callers['join']
}

/**
 * Whoever is gone may come back, so the turn goes on for `patienceMs` after the last of them; unless `mayComeBack` knows
 * that nobody will.
 */
export const callersOf = (patienceMs: number, mayComeBack: () => Promise<boolean>): Callers => {
  const gone = new AbortController()
  const tells = new Set<Tell>()
  const milestones: Progress[] = []
  let waiting = 0
  let over = false
  let timers: readonly NodeJS.Timeout[] = []

  const stop = (): void => {
    for (const timer of timers) clearTimeout(timer)
    timers = []
  }
  const letGo = (): void => {
    stop()
    gone.abort()
  }
  const leave = (): void => {
    waiting -= 1
    if (waiting > 0 || over) return
    const look = async (): Promise<void> => {
      if (!(await mayComeBack()) && waiting === 0) letGo()
    }
    timers = [setTimeout(letGo, patienceMs).unref(), setInterval(() => void look(), lookEveryMs).unref()]
    void look()
  }
  return {
    allGone: gone.signal,
    waitedFor: () => waiting > 0,
    end: () => {
      over = true
      stop()
    },
    tell: progress => {
      if (progress.kind === 'accepted' || progress.kind === 'started') milestones.push(progress)
      for (const tell of tells) tell(progress)
    },
    join: ({ hungUp, tell }) => {
      stop()
      waiting += 1
      const left = (): void => {
        if (tell) tells.delete(tell)
        leave()
      }
      if (tell) {
        for (const progress of milestones) tell(progress)
        tells.add(tell)
      }
      if (hungUp.aborted) left()
      else hungUp.addEventListener('abort', left, { once: true })
    },
  }
}

const lookEveryMs = 500
