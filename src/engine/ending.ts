import type { Failure } from '../protocol/failure.ts'
import type { Reason } from './outcome.ts'
import { endTree, type Tree, within } from './reap.ts'
import type { Exit } from './streams.ts'

/** The one way in which we end a turn: told to the host first, then by signals. */
export interface Ending {
  /** Ends the tree; the first call counts, later ones only add their reason. */
  readonly begin: (graceMs: number, because?: { readonly reason: Reason; readonly why: Failure }) => void
  /** Our first signal was sent. */
  readonly signalled: () => boolean
  readonly reasons: () => Readonly<Partial<Record<Reason, Failure>>>
  /** Resolved when nothing is left of the tree; absent when the turn was left to end by itself. */
  readonly done: () => Promise<void> | undefined
  /** Resolved when the leader would not even be killed: there is no more to wait for. */
  readonly gaveUp: Promise<Exit>
}

export const endingOf = (tree: Tree, hasExited: () => boolean, onEnding: () => Promise<void>): Ending => {
  const reasons: Partial<Record<Reason, Failure>> = {}
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<Exit>()
  let signalled = false
  let done: Promise<void> | undefined

  const end = async (graceMs: number): Promise<void> => {
    await within(tellHost(onEnding), hostMs)
    if (hasExited()) return
    signalled = true
    await endTree(tree, graceMs)
    giveUp({ signal: 'SIGKILL' })
  }

  // What is being ended already, for a cause of its own, is not slow or dear as well. A cancel is the caller's, at any time.
  const isLate = (reason: Reason): boolean =>
    done !== undefined && reason !== 'cancelled' && Object.keys(reasons).length === 0

  return {
    begin: (graceMs, because) => {
      if (hasExited()) return
      if (because !== undefined && !isLate(because.reason)) reasons[because.reason] ??= because.why
      done ??= end(graceMs)
    },
    signalled: () => signalled,
    reasons: () => reasons,
    done: () => done,
    gaveUp,
  }
}

const hostMs = 1000

// The host's trouble must not keep a turn alive.
const tellHost = async (onEnding: () => Promise<void>): Promise<void> => {
  try {
    await onEnding()
  } catch {}
}
