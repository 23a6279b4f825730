import type { ErrorCode } from './error-codes.ts'
import { type MicroUsd, showLimit, showSpent } from './money.ts'

/** Why something did not happen: a wire code, one sentence for people, and when to come back where that is known. */
export interface Failure<Code extends ErrorCode = ErrorCode> {
  readonly code: Code
  /** One line, at most 2 KB, without markup, control characters, secrets or argv. */
  readonly sentence: string
  readonly retryAfterMs?: number
}

const sentenceLimitBytes = 2048

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const escapes = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[@-Z\\-_]/g
const controls = /[\p{Cc}\p{Zl}\p{Zp}]/gu
const hidden = /\p{Cf}|\p{Cs}/gu
const tags = /<\/?[a-z!][^<>]*>/gi
const keys = /\b(?:sk|pk|rk|key|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{8,}|\bBearer\s+\S+|\bAIza[A-Za-z0-9_-]{20,}/g

/** Makes one sentence of whatever a program said: one line, at most 2 KB, no markup, control characters or keys. */
export const oneLine = (text: string): string => {
  const flat = text
    .slice(0, 64 * 1024)
    .replace(escapes, '')
    .replace(tags, ' ')
    .replace(controls, ' ')
    .replace(hidden, '')
    .replace(keys, '[key]')
    .replace(/\s+/g, ' ')
    .trim()
  if (Buffer.byteLength(flat) <= sentenceLimitBytes) return flat
  const cut = Buffer.from(flat)
    .subarray(0, sentenceLimitBytes - 3)
    .toString('utf8')
  return `${cut.replace(/\uFFFD$/, '')}…`
}

/** The one way to make a failure. */
export const failure = <Code extends ErrorCode>(
  code: Code,
  sentence: string,
  retryAfterMs?: number,
): Failure<Code> => ({
  code,
  sentence: oneLine(sentence) || code,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** The sentence of the protocol: `Budget exhausted: $1.2000 used of $1.00.`, and whose budget where it helps. */
export const budgetExhausted = (spent: MicroUsd, limit: MicroUsd, more = ''): Failure<'budget_exhausted'> =>
  failure('budget_exhausted', `Budget exhausted: ${showSpent(spent)} used of ${showLimit(limit)}.${more && ` ${more}`}`)
