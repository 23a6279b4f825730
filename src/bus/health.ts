import * as E from 'fp-ts/lib/Either.js'
import { capabilities, protocolVersion } from '../protocol/version.ts'
import type { Bus } from './bus.ts'

/** What `GET /api/health` says: no secret needed, nothing private in it. */
export interface Health {
  /** `refusing`: the ledger cannot be read or written, so no talk would be taken. */
  readonly status: 'ok' | 'refusing' | 'stopping'
  readonly kind: 'errand'
  readonly instance: string
  readonly engine: string
  readonly protocolVersion: number
  readonly capabilities: readonly string[]
  readonly pid: number
  readonly running: number
  readonly queued: number
  /** How long the oldest running turn has run; 0 when none runs. */
  readonly oldestTurnMs: number
}

export const healthOf = async (bus: Bus): Promise<Health> => {
  const { host, instance, queue } = bus
  const spansMs = [...host.live.values()].flatMap(({ instance: name, ranForMs }) =>
    name === instance.name && ranForMs !== undefined ? [ranForMs()] : [],
  )
  return {
    status: bus.stopping ? 'stopping' : (await takesTalks(bus)) ? 'ok' : 'refusing',
    kind: 'errand',
    instance: instance.name,
    engine: instance.settings.engine.name,
    protocolVersion,
    capabilities,
    pid: process.pid,
    running: queue.running(),
    queued: queue.waiting(),
    oldestTurnMs: Math.max(0, ...spansMs),
  }
}

const takesTalks = async ({ host }: Bus): Promise<boolean> =>
  host.unsettled.size === 0 && E.isRight(await host.ledger.sound()())
