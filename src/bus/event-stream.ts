import type { Context } from 'koa'
import type { Envelope } from '../protocol/envelope.ts'
import { envelopeEvent, type Progress, sayEvent } from '../protocol/progress.ts'
import type { Tell } from './progress.ts'

/** The answer to a caller that follows its talk: events while it goes on, and the envelope as the last of them. */
export interface EventStream {
  /** The first event begins the answer: until then a refusal is an answer like any other. */
  readonly tell: Tell
  readonly begun: () => boolean
  readonly end: (envelope: Envelope) => void
}

/** So that nobody on the way takes a turn that says nothing for a line that is dead. */
const beatEveryMs = 15_000
/** What may wait for a reader; beyond it events are left out, but for those that tell where the talk stands. */
const backlogBytes = 256 * 1024
const always: ReadonlySet<Progress['kind']> = new Set(['accepted', 'started'])

export const eventStream = (ctx: Context, beatMs = beatEveryMs): EventStream => {
  const { res } = ctx
  let id = 0
  let beat: NodeJS.Timeout | undefined

  const begin = (): void => {
    ctx.respond = false
    res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store' })
    beat = setInterval(() => res.writableLength > 0 || res.write(': beat\n\n'), beatMs)
    res.once('close', () => clearInterval(beat))
  }

  return {
    tell: ({ kind, ...body }) => {
      if (id === 0) begin()
      id += 1
      if (res.writableLength < backlogBytes || always.has(kind)) res.write(sayEvent(id, kind, body))
    },
    begun: () => id > 0,
    end: envelope => {
      clearInterval(beat)
      res.end(sayEvent(id + 1, envelopeEvent, envelope))
    },
  }
}
