import { factsOf } from '../protocol/error-codes.ts'
import type { Failure } from '../protocol/failure.ts'
import type { Common, Terminal } from './terminal.ts'

/**
 * Tells failures, the sentences on stderr and with `--json` a document on stdout, and gives the exit status: that of the
 * first.
 */
export const refuse = (terminal: Terminal, failures: readonly Failure[], { json }: Common): number => {
  const [first] = failures
  if (first === undefined) return 0
  if (json) {
    const error = failures.map(({ sentence }) => sentence).join(' ')
    const { retryable } = factsOf(first.code)
    const all = failures.map(({ code, sentence }) => ({ errorCode: code, error: sentence }))
    terminal.out(JSON.stringify({ success: false, error, errorCode: first.code, retryable, all }))
  }
  for (const { sentence } of failures) terminal.say(`errand: ${sentence}`)
  return factsOf(first.code).exitStatus
}

/** What is unwise but no mistake. */
export const warn = (terminal: Terminal, sentences: readonly string[]): void => {
  for (const sentence of sentences) terminal.say(`errand: warning: ${sentence}`)
}
