import type { PriceOf } from '../engine/settings.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Host } from './host.ts'
import type { Instance } from './instance.ts'
import type { Queue } from './queue.ts'

/** A talk that waits or runs here, and the way to end it; the reason of an abort is its failure. */
export interface LiveTalk {
  readonly turn: string
  readonly end: (why: Failure) => void
  runningSinceMs?: number
}

/** One instance, listening: facts and functions, so that a talk can be tested with plain values. */
export interface Bus {
  readonly host: Host
  readonly instance: Instance
  readonly priceOf: PriceOf
  readonly queue: Queue
  /** By turn. */
  readonly live: Map<string, LiveTalk>
  /** Settles that could not be written yet; while there are any, new talks are refused. */
  readonly unsettled: Set<string>
  stopping: boolean
}
