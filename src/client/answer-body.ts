import { envelopeEvent } from '../protocol/progress.ts'
import { eventReader, type WireEvent } from './event-reader.ts'

/** The body of an answer while it is read. */
export interface AnswerBody {
  /** `whole`: there is nothing more to wait for. */
  readonly push: (chunk: Buffer) => 'more' | 'whole' | 'tooLong'
  /** What was read; `undefined` when the end came too early. */
  readonly text: () => string | undefined
}

/** All that comes, up to the end. */
export const plainBody = (limitBytes: number): AnswerBody => {
  const chunks: Buffer[] = []
  let lengthBytes = 0
  return {
    push: chunk => {
      lengthBytes += chunk.length
      if (lengthBytes > limitBytes) return 'tooLong'
      chunks.push(chunk)
      return 'more'
    },
    text: () => Buffer.concat(chunks).toString('utf8'),
  }
}

/** Events; the envelope is the last of them, whatever comes behind it. */
export const eventsBody = (limitBytes: number, heard: (event: WireEvent) => void): AnswerBody => {
  let envelope: string | undefined
  const reader = eventReader(limitBytes, event => {
    if (envelope !== undefined) return
    if (event.name === envelopeEvent) envelope = event.data
    else heard(event)
  })
  return {
    push: chunk => {
      const fits = reader.push(chunk)
      if (envelope !== undefined) return 'whole'
      return fits ? 'more' : 'tooLong'
    },
    text: () => envelope,
  }
}
