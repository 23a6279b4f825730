import type { ErrorCode } from '../protocol/error-codes.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Engine, EngineEnd } from './engine.ts'
import { resetInMs } from './reset-time.ts'

/**
 * Why a run gave no answer. The engine's own classifier comes first; where it knows nothing special (`engine_cli`), what
 * the providers' statuses and the CLIs' common phrases mean. Structured fields outweigh plain text, stderr comes last.
 */
export const causeOf = (engine: Pick<Engine, 'name' | 'classify'>, end: EngineEnd, nowMs: number): Failure => {
  const told = engine.classify(end)
  const known = told.code === 'engine_cli' ? commonCause(end) : undefined
  const code = known?.code ?? told.code
  const sentence = known?.sentence || told.sentence || unknownCause(engine.name, end)
  const hints = [sentence, end.retry?.reason ?? ''].map(text => text.slice(0, longestText))
  const retryAfterMs = told.retryAfterMs ?? (code === 'rate_limited' ? resetInMs(hints, nowMs) : undefined)
  return failure(code, sentence, retryAfterMs)
}

interface Known {
  readonly code: ErrorCode
  readonly sentence: string
}

const commonCause = ({ result, retry, noise, stderr }: EngineEnd): Known | undefined => {
  if (result !== undefined) return knownIn([result.error], `${result.type ?? ''}`, result.status)
  return knownIn(lines(noise)) ?? knownIn(lines(stderr)) ?? knownIn([retry?.reason ?? ''], '', retry?.status)
}

const knownIn = (texts: readonly string[], type = '', status?: number): Known | undefined => {
  for (const text of texts) {
    const code = codeOf(text, type, status)
    if (code !== undefined) return { code, sentence: text }
  }
  return undefined
}

// The order matters: an empty account is often told as a 429 or a 400, a limit is often told next to a login hint.
const codeOf = (text: string, type: string, status?: number): ErrorCode | undefined => {
  const words = `${type} ${text}`.slice(0, longestText).replace(paths, ' ')
  if (quota.test(words)) return 'quota_exhausted'
  if (markup.test(words)) return undefined
  if (status !== undefined && statuses.has(status)) return statuses.get(status)
  return phrases.find(([phrase]) => phrase.test(words))?.[1]
}

const statuses: ReadonlyMap<number, ErrorCode> = new Map([
  [401, 'auth'],
  [402, 'quota_exhausted'],
  [403, 'auth'],
  [429, 'rate_limited'],
  [503, 'rate_limited'],
  [529, 'rate_limited'],
])

// A cause is told early; what follows may be megabytes.
const longestText = 16 * 1024

// Digits and words inside a path or an address tell nothing; a lone `/login` is no path. A long word is tried from its
// beginning only: from each of its letters would take time that grows with its square.
const paths = /\b\w+:\/\/\S+|(?<![~.\w-])[~.\w-]*(?:\/[^\s/'"`]+){2,}\/?/g

// A page instead of an answer comes from a proxy or a bot check, whatever its status says.
const markup = /<!doctype|<html/i

const quota =
  /credit balance is too low|spend(?:ing)? limit|insufficient_quota|quota exceeded|exceeded your (?:current )?quota|billing (?:hard )?limit|out of credits|insufficient (?:credits|funds|balance)/i

const phrases: readonly (readonly [RegExp, ErrorCode])[] = [
  [
    /no conversation found|no rollout found|requires a valid session|session (?:id )?\S* ?(?:not found|is already in use)|no (?:saved )?session found|error resuming session/i,
    'session_state',
  ],
  [
    /hit your (?:[\w-]+ )*limit|usage limit|rate[ _-]?limit|too many requests|overloaded|high demand|\b(?:status|error|code)\W{0,3}(?:429|529)\b/i,
    'rate_limited',
  ],
  [
    /not logged in|please run \/login|(?:invalid|incorrect|missing|expired) (?:api[ _-]?key|bearer|token)|authentication[ _-]?(?:error|failed)|failed to authenticate|token has expired|refresh token|sign in again|no auth credentials|missing environment variable: `\w*(?:KEY|TOKEN)|\bunauthorized\b|unauthenticated|request not allowed|unsupported_country|\b(?:status|error|code)\W{0,3}40[13]\b/i,
    'auth',
  ],
]

const lines = (text: string): readonly string[] =>
  text
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '')

const unknownCause = (name: string, end: EngineEnd): string => {
  const ended = howEnded(name, end)
  const line = tellingLine(end) ?? end.retry?.reason
  if (line === undefined) return ended
  return end.exitCode === 0 ? `${ended} It said: ${line}` : line
}

// The line that names the cause: the first that calls itself an error, else the last that is more than talk around it.
const tellingLine = ({ noise, stderr }: EngineEnd): string | undefined => {
  const all = [...lines(noise), ...lines(stderr)]
  return all.find(line => alarm.test(line)) ?? all.findLast(line => !chatter.test(line))
}

const alarm = /^(?:\w*error|fatal|panic(?:ked)?)\b.{0,40}:/i
const chatter = /^(?:at |warn|note|tip|info|debug|usage|for more information|node\.js v|reading additional input)/i

const howEnded = (name: string, { exitCode, signal }: EngineEnd): string => {
  if (signal !== undefined) return `The CLI of ${name} was ended by ${signal}.`
  if (exitCode === undefined || exitCode === 0) return `The CLI of ${name} ended without an answer.`
  return `The CLI of ${name} ended with exit status ${exitCode}.`
}
