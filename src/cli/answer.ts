import { type Envelope, type FailureEnvelope, failureEnvelope } from '../protocol/envelope.ts'
import { errorCodes, factsOf } from '../protocol/error-codes.ts'
import { type Failure, oneLine } from '../protocol/failure.ts'
import { microUsdFrom, showSpent } from '../protocol/money.ts'
import { harmless } from './harmless.ts'
import { warn } from './refuse.ts'
import { showSpan } from './span.ts'
import type { Common, Terminal } from './terminal.ts'

/** Prints what became of a talk, and gives the exit status: the text on stdout, everything else on stderr. */
export const answer = (terminal: Terminal, envelope: Envelope, { json }: Common): number => {
  if (json) terminal.out(JSON.stringify(envelope))
  else if (envelope.success) terminal.outAnswer(envelope.text)
  if (!envelope.success) terminal.say(`errand: ${oneLine(speakerOf(envelope) + envelope.error)}`)
  const { warning, partialText, denied } = envelope.ext ?? {}
  if (warning !== undefined) warn(terminal, [oneLine(warning)])
  if (terminal.watched) {
    if (partialText && !json) terminal.say(`It had said so far:\n${harmless(partialText)}`)
    if (denied !== undefined && denied.length > 0) terminal.say(`It was not allowed to: ${oneLine(denied.join('; '))}`)
    if (envelope.ext?.turn !== undefined) terminal.say(terminal.dim(lastLine(envelope)))
  }
  return envelope.success ? 0 : exitStatusOf(envelope)
}

/** The same for a talk that never left. */
export const answerFailure = (terminal: Terminal, why: Failure, name: string, options: Common): number =>
  answer(terminal, failureEnvelope(why, { fromInstance: name, durationMs: 0 }), options)

// 75 says "try again" to a script; what the wire says of that outweighs our own table.
export const exitStatusOf = ({ errorCode, retryable }: FailureEnvelope): number => {
  const { unknown, session_state } = errorCodes
  if (retryable) return unknown.exitStatus
  const { exitStatus } = factsOf(errorCode)
  return exitStatus === unknown.exitStatus ? session_state.exitStatus : exitStatus
}

// What a CLI said of its own failure names no instance, and several may run it.
const speakerOf = ({ ext, fromInstance, error }: FailureEnvelope): string =>
  ext?.turn === undefined || error.includes(fromInstance) ? '' : `${fromInstance}: `

const lastLine = ({ fromInstance, durationMs, ext = {} }: Envelope): string => {
  const { turn, model, costUsd, basis } = ext
  const cost = costUsd === undefined ? 'unknown' : microUsdFrom(costUsd)
  const parts = [
    fromInstance,
    turn && `turn ${turn}`,
    model,
    showSpan(durationMs),
    cost === 'unknown' ? undefined : `${showSpent(cost)}${basis === 'unknown' ? ' (true cost unknown)' : ''}`,
  ]
  return oneLine(parts.filter(Boolean).join(' · '))
}
