import type { Envelope } from '../protocol/envelope.ts'
import { factsOf } from '../protocol/error-codes.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Errand } from './errands.ts'
import { sayKnown } from './known.ts'

/** What a tool call is answered with. */
export type Said = {
  readonly content: { readonly type: 'text'; readonly text: string }[]
  readonly isError?: true
}

export const say = (text: string): Said => ({ content: [{ type: 'text', text }] })

export const sayFailure = ({ code, sentence, retryAfterMs }: Failure): Said =>
  sayError(code, sentence, factsOf(code).retryable, retryAfterMs)

/** The answer byte for byte and nothing else; of a failure its code, its sentence and whether to try again. */
export const sayEnvelope = (envelope: Envelope): Said => {
  if (envelope.success) return say(envelope.text)
  const { errorCode, error, retryable, ext } = envelope
  const said = sayError(errorCode, error, retryable, ext?.retryAfterMs)
  const partial = ext?.partialText ?? ''
  return partial === '' ? said : { ...said, content: [...said.content, ...say(`It had said: ${partial}`).content] }
}

/** Of one that is not over: how far it is, and how to go on. */
export const sayStill = (errand: Errand, nowMs: number): Said =>
  say(`Still running: ${sayKnown(errand.name, errand.known(), nowMs - errand.startedAtMs)}. Its id: ${errand.id}`)

const sayError = (code: string, sentence: string, retryable: boolean, retryAfterMs?: number): Said => {
  const when = retryAfterMs === undefined ? '' : ` in ${Math.ceil(retryAfterMs / 1000)} s`
  const again = retryable ? `Trying again${when} may help.` : 'The same again will not help.'
  const ends = /[.!?…]$/.test(sentence) ? '' : '.'
  return { ...say(`${code}: ${sentence}${ends} ${again}`), isError: true }
}
