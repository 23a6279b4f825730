import type { Json } from '../protocol/decode.ts'
import { frames } from './frames.ts'
import { noiseTail } from './noise.ts'
import { type Aside, parseAside } from './parse-aside.ts'

/** Who hears of a stream's records, in their order. */
export interface RecordSinks {
  /** `late`: it was complete only after `isLate` had become true. */
  readonly record: (record: Json, late: boolean) => void
  readonly isLate: () => boolean
  readonly tooLong: () => void
  /** A record was damaged on its way: nobody knows what it said. */
  readonly torn?: () => void
  /** What is no record, as it comes. */
  readonly noise?: (bytes: Uint8Array) => void
  /** Whether a long record is being parsed: the stream should wait meanwhile. */
  readonly busy: (busy: boolean) => void
}

/** The records of one stream. */
export interface Records {
  readonly push: (chunk: Uint8Array) => void
  /** The stream has ended; resolved when its last record was given out. */
  readonly end: () => Promise<void>
  /** The tail of what was no record, as text. */
  readonly noise: () => string
  /** Lets go of the thread; nothing is given out any more. */
  readonly close: () => void
}

type Waiting =
  | ({ readonly late: boolean } & ({ readonly value: Json } | { readonly bytes: ArrayBuffer }))
  | { readonly torn: true }

/** Frames a stream into records. Long ones are parsed on another thread; those behind them wait, so that order is kept. */
export const readRecords = (limitBytes: number, sinks: RecordSinks): Records => {
  const noise = noiseTail()
  const queue: Waiting[] = []
  let aside: Aside | undefined
  let draining: Promise<void> | undefined
  let closed = false

  const drain = async (): Promise<void> => {
    sinks.busy(true)
    while (queue.length > 0 && !closed) {
      for (const next of queue.splice(0)) await give(next)
    }
    draining = undefined
    sinks.busy(false)
  }

  const give = async (next: Waiting): Promise<void> => {
    if ('torn' in next) {
      if (!closed) sinks.torn?.()
      return
    }
    if ('bytes' in next) aside ??= parseAside()
    const record = 'bytes' in next ? await aside?.parse(next.bytes) : next.value
    if (!closed && record !== undefined) sinks.record(record, next.late)
  }

  const cut = frames(limitBytes, {
    value: value => {
      if (draining === undefined) sinks.record(value, sinks.isLate())
      else queue.push({ value, late: sinks.isLate() })
    },
    long: bytes => {
      queue.push({ bytes, late: sinks.isLate() })
      draining ??= drain()
    },
    noise: bytes => {
      noise.add(bytes)
      sinks.noise?.(bytes)
    },
    torn: () => {
      if (draining === undefined) sinks.torn?.()
      else queue.push({ torn: true })
    },
    tooLong: sinks.tooLong,
  })

  return {
    push: chunk => {
      if (!closed) cut.push(chunk)
    },
    end: async () => {
      if (!closed) cut.end()
      if (draining !== undefined) await draining
      aside?.close()
    },
    noise: noise.text,
    close: () => {
      closed = true
      queue.length = 0
      aside?.close()
    },
  }
}
