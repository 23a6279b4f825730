import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { EngineEvent } from './engine.ts'
import type { Guarded } from './guarded.ts'
import { readRecords } from './records.ts'
import { sayBytes } from './sentence.ts'
import type { EngineSettings } from './settings.ts'
import type { Tally } from './tally.ts'
import { readText } from './text-output.ts'

/** Everything that a turn has said on stdout. */
export interface Hearing {
  readonly push: (chunk: Uint8Array) => void
  /** The stream has ended; resolved when the last of it was heard. */
  readonly end: () => Promise<void>
  readonly close: () => void
  /** The answer of a `text` engine, so far. */
  readonly text: () => string
  /** What was no record. */
  readonly noise: () => string
  /** Why nothing more can be heard. */
  readonly fault: () => { readonly broken?: Failure; readonly tooLong?: Failure }
  /** A final result was complete before our first signal. */
  readonly resultInTime: () => boolean
}

export interface Listeners {
  /** After each record, and after each event of another source. */
  readonly heard: () => void
  /** The engine failed, or a record is too long: there is no answer to wait for. */
  readonly fault: () => void
  readonly result: () => void
  readonly isLate: () => boolean
  readonly busy: (busy: boolean) => void
}

export const hear = (settings: EngineSettings, engine: Guarded, tally: Tally, listeners: Listeners): Hearing => {
  const { engine: of, lineLimitBytes } = settings
  let broken: Failure | undefined
  let tooLong: Failure | undefined
  let inTime = false
  /** Of what is said in pieces: each may be short, and all of them longer than any string can be. */
  let saidLength = 0

  const record = (json: Json, late: boolean): void => {
    if (broken !== undefined || tooLong !== undefined) return
    const events = engine.decode(json)
    if (E.isLeft(events)) {
      if (inTime) return
      broken = events.left
      listeners.fault()
      return
    }
    for (const event of events.right) {
      tally.add(event)
      if (event.kind === 'tool') saidLength = 0
      if (event.kind === 'text') saidLength = (event.delta === true ? saidLength : 0) + event.text.length
    }
    if (saidLength > lineLimitBytes) overLimit('an answer')
    if (events.right.some(isResult)) {
      inTime ||= !late
      listeners.result()
    }
    listeners.heard()
  }

  const overLimit = (what: string): void => {
    if (inTime) return
    tooLong = failure(
      'engine_cli',
      `The CLI of ${of.name} printed ${what} of more than ${sayBytes(lineLimitBytes)}. Raise "lineLimit" of the instance if that is right.`,
    )
    listeners.fault()
  }

  const text = of.output === 'text' ? readText(lineLimitBytes, () => overLimit('an answer')) : undefined
  const records =
    text === undefined
      ? readRecords(lineLimitBytes, {
          record,
          tooLong: () => overLimit('one record'),
          isLate: listeners.isLate,
          busy: listeners.busy,
        })
      : undefined

  return {
    push: chunk => (text ?? records)?.push(chunk),
    end: async () => records?.end(),
    close: () => records?.close(),
    text: () => text?.text() ?? '',
    noise: () => (text ?? records)?.noise() ?? '',
    fault: () => ({ ...(broken === undefined ? {} : { broken }), ...(tooLong === undefined ? {} : { tooLong }) }),
    resultInTime: () => inTime,
  }
}

const isResult = (event: EngineEvent): boolean => event.kind === 'result'
