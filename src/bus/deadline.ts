import { sayDuration } from '../engine/sentence.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Admitted } from './admit.ts'

/** When a talk must be over since the turn that made it must, and what it is ended with. */
export interface Deadline {
  readonly atMs: number
  readonly leftMs: number
  readonly why: Failure<'timeout'>
}

// What the asking turn keeps for itself, to make something of the answer.
const keptPart = 0.1
const mostKeptMs = 5000

// A turn whose time is up is ended within seconds. One that still runs so long after has a clock that was set meanwhile, or a
// machine that slept, which its own limit does not count. What it asked for ends with it in any case.
const endedWithinMs = 60_000

/** A talk that a turn made has no longer than what is left of the turn's own time, and that waiting counts too. */
export const inheritedDeadline = ({ parent }: Pick<Admitted, 'parent'>, nowMs: number): Deadline | undefined => {
  if (parent?.deadlineAtMs === undefined || parent.deadlineAtMs + endedWithinMs < nowMs) return undefined
  const restMs = Math.max(0, parent.deadlineAtMs - nowMs)
  const leftMs = Math.round(restMs - Math.min(restMs * keptPart, mostKeptMs))
  const whose = `what was left of the time of the turn that asked (${parent.turn} of ${parent.instance})`
  return {
    atMs: nowMs + leftMs,
    leftMs,
    why: failure('timeout', `No answer within ${sayDuration(leftMs)}, ${whose}; it was ended.`),
  }
}
