import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { bareErrorIn } from './bare-error.ts'
import type { EngineEvent } from './engine.ts'
import type { Guarded } from './guarded.ts'
import { viewOf } from './json-view.ts'
import { readRecords } from './records.ts'
import { sayBytes } from './sentence.ts'
import type { EngineSettings } from './settings.ts'
import { readText } from './text-output.ts'

/** Everything that a turn has said on stdout, and the lines of stderr that its engine understands. */
export interface Hearing {
  readonly push: (chunk: Uint8Array) => void
  /** A line of stderr. */
  readonly errorLine: (line: string) => void
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
  /** A record was damaged that may have held the answer, or a piece of it. */
  readonly answerTorn: () => boolean
}

export interface Listeners {
  readonly event: (event: EngineEvent) => void
  /** After all events of a record or a line. */
  readonly heard: () => void
  /** A record came, whatever it says. */
  readonly record: () => void
  /** What is no record. */
  readonly noise: (bytes: Uint8Array) => void
  /** The engine failed, or a record is too long: there is no answer to wait for. */
  readonly fault: () => void
  readonly result: () => void
  readonly isLate: () => boolean
  readonly busy: (busy: boolean) => void
}

export const hear = (settings: EngineSettings, engine: Guarded, listeners: Listeners): Hearing => {
  const { engine: of, lineLimitBytes } = settings
  let broken: Failure | undefined
  let tooLong: Failure | undefined
  let inTime = false
  let torn = false
  let answerTorn = false
  /** Of the API, in records that say nothing to the engine. */
  let bareErrors: readonly string[] = []
  /** Of what is said in pieces: each may be short, and all of them longer than any string can be. */
  let saidLength = 0

  const take = (decoded: () => ReturnType<Guarded['decode']>, late: boolean): void => {
    if (broken !== undefined || tooLong !== undefined) return
    const events = decoded()
    if (E.isLeft(events)) {
      if (inTime) return
      broken = events.left
      listeners.fault()
      return
    }
    for (const event of events.right) {
      listeners.event(event)
      if (event.kind === 'tool') saidLength = 0
      if (event.kind === 'text') saidLength = (event.delta === true ? saidLength : 0) + event.text.length
      // A whole message that comes later is the answer.
      if (event.kind === 'text' && event.delta !== true) torn = false
      if (event.kind === 'result') answerTorn = torn
    }
    if (saidLength > lineLimitBytes) overLimit('an answer')
    if (events.right.some(isEnd)) {
      inTime ||= !late
      listeners.result()
    }
    listeners.heard()
  }

  const record = (json: Json, late: boolean): void => {
    listeners.record()
    const events = engine.decode(json)
    take(() => events, late)
    if (E.isLeft(events) || events.right.length > 0) return
    const error = bareErrorIn(viewOf(json))
    if (error !== '') bareErrors = [...bareErrors, error].slice(-mostErrors)
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
          torn: () => {
            torn = true
          },
          isLate: listeners.isLate,
          busy: listeners.busy,
          noise: listeners.noise,
        })
      : undefined

  return {
    push: chunk => (text ?? records)?.push(chunk),
    errorLine: line => {
      if (of.decodeError !== undefined) take(() => engine.decodeError(line), listeners.isLate())
    },
    end: async () => records?.end(),
    close: () => records?.close(),
    text: () => text?.text() ?? '',
    noise: () => [...bareErrors, (text ?? records)?.noise() ?? ''].join('\n'),
    fault: () => ({ ...(broken === undefined ? {} : { broken }), ...(tooLong === undefined ? {} : { tooLong }) }),
    resultInTime: () => inTime,
    answerTorn: () => answerTorn,
  }
}

const mostErrors = 8

const isEnd = (event: EngineEvent): boolean => event.kind === 'result' && event.mayGoOn !== true
