import type { PriceOf } from '../engine/settings.ts'
import type { Shared } from './callers.ts'
import type { Host } from './host.ts'
import type { Authenticate } from './identity.ts'
import type { Instance } from './instance.ts'
import type { Queue } from './queue.ts'

/** One instance, listening: facts and functions, so that a talk can be tested with plain values. */
export interface Bus {
  readonly host: Host
  readonly authenticate: Authenticate
  readonly instance: Instance
  readonly priceOf: PriceOf
  readonly queue: Queue
  /** Talks with an idempotency key that are carried out now; empty at first. */
  readonly shared: Map<string, Shared>
  stopping: boolean
}
