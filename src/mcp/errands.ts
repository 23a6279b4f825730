import type { Envelope } from '../protocol/envelope.ts'
import type { ProgressEvent } from '../protocol/progress.ts'
import { type Known, nothingKnown, withEvent } from './known.ts'

/** What is asked of an instance. */
export interface Wish {
  readonly name: string
  readonly prompt: string
  readonly thread?: string
}

/** One delegation of this connection, from its start until the client is gone. */
export interface Errand {
  /** `worker-1`: by it the client collects and cancels. */
  readonly id: string
  readonly name: string
  readonly startedAtMs: number
  readonly reply: Promise<Envelope>
  /** Once it is over. */
  readonly over: () => Envelope | undefined
  /** What is known of it so far. */
  readonly known: () => Known
  /** Calls back when more is known, until the returned function is called. */
  readonly watch: (heard: () => void) => () => void
  /** Hangs up, by which its turn is ended. */
  readonly cancel: () => void
}

/** Sends a talk; never rejects. */
export type Send = (wish: Wish, signal: AbortSignal, onProgress: (event: ProgressEvent) => void) => Promise<Envelope>

export interface Errands {
  readonly start: (wish: Wish) => Errand
  readonly find: (id: string) => Errand | undefined
  /** Those that are not over. */
  readonly open: () => readonly Errand[]
}

/** All delegations of one connection; `gone` ends them. */
export const errandsOf = (send: Send, now: () => number, gone: AbortSignal): Errands => {
  const errands = new Map<string, Errand>()
  const start = (wish: Wish): Errand => {
    const controller = new AbortController()
    const watchers = new Set<() => void>()
    let known = nothingKnown
    let over: Envelope | undefined
    const reply = send(wish, AbortSignal.any([gone, controller.signal]), event => {
      known = withEvent(known, event)
      for (const heard of watchers) heard()
    }).then(envelope => {
      over = envelope
      return envelope
    })
    const errand: Errand = {
      id: `${wish.name}-${errands.size + 1}`,
      name: wish.name,
      startedAtMs: now(),
      reply,
      over: () => over,
      known: () => known,
      watch: heard => {
        watchers.add(heard)
        return () => watchers.delete(heard)
      },
      cancel: () => controller.abort(),
    }
    errands.set(errand.id, errand)
    return errand
  }
  return {
    start,
    find: id => errands.get(id),
    open: () => [...errands.values()].filter(errand => errand.over() === undefined),
  }
}
