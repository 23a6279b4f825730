import { setTimeout as pause } from 'node:timers/promises'
import { failure } from '../protocol/failure.ts'
import type { Bus } from './bus.ts'

/** Resolves when nothing runs or waits. */
export const untilIdle = async ({ queue }: Bus): Promise<void> => {
  while (queue.running() > 0 || queue.waiting() > 0) await queue.change()
}

/** Refuses what is new and what waits, gives what runs its grace, then ends it; resolves when every turn is settled. */
export const stopTalks = async (bus: Bus, graceMs: number): Promise<void> => {
  bus.stopping = true
  const { name } = bus.instance
  endTalks(bus, 'waiting', failure('instance_unavailable', `Instance ${name} is stopping.`))
  await Promise.race([untilIdle(bus), pause(graceMs, undefined, { ref: false })])
  endTalks(bus, 'running', failure('cancelled', `Instance ${name} was stopped before the turn was done.`))
  await untilIdle(bus)
}

const endTalks = ({ host, instance }: Bus, which: 'waiting' | 'running', why: ReturnType<typeof failure>): void => {
  for (const talk of host.live.values()) {
    const runs = talk.ranForMs !== undefined
    if (talk.instance === instance.name && runs === (which === 'running')) talk.end(why)
  }
}
