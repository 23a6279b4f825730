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
  const known = told.code === 'engine_cli' ? commonCause(end, nowMs) : undefined
  const code = known?.code ?? told.code
  const sentence = known?.sentence || told.sentence || unknownCause(engine.name, end)
  const hints = [sentence, end.retry?.reason ?? ''].map(text => text.slice(0, longestText))
  const retryAfterMs = told.retryAfterMs ?? (code === 'rate_limited' ? waitMs(hints, end, nowMs) : undefined)
  return failure(code, sentence, retryAfterMs)
}

// A short wait is the CLI's own first guess; a long one is what the provider asked for.
const waitMs = (hints: readonly string[], { retry }: EngineEnd, nowMs: number): number | undefined => {
  const told = retry?.retryAfterMs ?? 0
  return resetInMs(hints, nowMs) ?? (told >= askedForMs ? told : undefined)
}

const askedForMs = 5000

interface Known {
  readonly code: ErrorCode
  readonly sentence: string
}

const commonCause = ({ result, retry, noise, stderr }: EngineEnd, nowMs: number): Known | undefined => {
  const knownIn = (texts: readonly string[], type = '', status?: number): Known | undefined => {
    for (const text of texts) {
      const code = codeOf(text, type, status, nowMs)
      if (code !== undefined) return { code, sentence: text }
    }
    return undefined
  }
  if (result !== undefined) return knownIn([result.error], `${result.type ?? ''}`, result.status)
  return knownIn(lines(noise)) ?? knownIn(lines(stderr)) ?? knownIn([retry?.reason ?? ''], '', retry?.status)
}

// The order matters: an empty account is often told as a 429 or a 400, a limit is often told next to a login hint.
const codeOf = (text: string, type: string, status: number | undefined, nowMs: number): ErrorCode | undefined => {
  const told = text.slice(0, longestText)
  const words = `${type} ${told}`.replace(paths, ' ')
  if (emptyAccount.test(words)) return 'quota_exhausted'
  // A quota that comes back by itself is a limit.
  if (quota.test(words)) return resetInMs([told], nowMs) === undefined ? 'quota_exhausted' : 'rate_limited'
  if (markup.test(words)) return undefined
  return statuses.get(status) ?? phrases.find(([phrase]) => phrase.test(words))?.[1]
}

const statuses: ReadonlyMap<number | undefined, ErrorCode> = new Map([
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

const anyOf = (...parts: readonly string[]): RegExp => new RegExp(parts.join('|'), 'i')

const emptyAccount = anyOf(
  'credit balance is too low|insufficient[ _](?:quota|credits?|funds|balance)|out of credits|payment required|requires more credits',
  'balance is (?:insufficient|too low|exhausted|empty)',
  'billing (?:hard )?limit|purchase (?:more )?credits|(?:account|key) .{0,40}\\b(?:overdue|in arrears)|\\barrearage\\b',
  'premium request (?:allowance|quota|limit)|no quota\\b|\\b(?:status|error|code)\\W{0,3}402\\b',
)

const quota = anyOf(
  'spend(?:ing)? limit|quota[ _]exceeded|exceeded your (?:current |monthly )?quota|exhausted your (?:\\w+ )?(?:quota|capacity)',
  'quota (?:is|has been) (?:exhausted|exceeded)|quota will reset',
)

const phrases: readonly (readonly [RegExp, ErrorCode])[] = [
  [
    anyOf(
      'no conversation found|no rollout found|requires a valid session|error resuming session|invalid session (?:id|identifier)',
      '(?:session|thread|conversation) (?:id )?\\S* ?(?:not found|is already in use|does not exist)|no (?:saved )?session found|no session, task',
    ),
    'session_state',
  ],
  [
    anyOf(
      '(?:hit|reached) your (?:[\\w-]+ )*limit|usage[ _]limit|rate[ _-]?limit|too many (?:concurrent )?requests|resource[ _]exhausted|\\bthrottl(?:ed|ing)\\b',
      '(?:hour|hourly|daily|weekly|session|message|opus|sonnet) limit (?:has been |was )?(?:reached|exceeded)|\\blimit\\b.{0,40}\\bresets?\\b|out of (?:\\w+ )?usage',
      'overloaded|high demand|at capacity|server is busy|service (?:is )?(?:temporarily )?unavailable|^\\W*(?:429|529)\\b',
      '\\b(?:status|error|code)\\W{0,3}(?:429|503|529)\\b',
    ),
    'rate_limited',
  ],
  [
    anyOf(
      '(?:not|must be) (?:logged|signed) in|(?:login|log-in|sign-?in) (?:is )?required|please authenticate',
      'not authenticated|please (?:run \\S{0,20}/login|log ?in|sign ?in)|sign in again|log(?:ged)? in (?:first|again)',
      '(?:invalid|incorrect|missing|expired|no|bad)[ _](?:x-)?(?:api[ _-]?keys?|bearer|access token|token|credentials)\\b',
      'api[ _-]?key[ _](?:is )?(?:not valid|invalid|expired|missing|required|not found)|api keys are not supported',
      'authentication[ _-]?(?:error|failed|required)|failed to authenticate|no auth(?:entication)? (?:credentials|information|provided|provider)',
      'no auth provider|no auth type|auth method|token (?:has |is |was )?(?:been )?(?:expired|revoked|invalidated)|refresh token|missing environment variable: `\\w*(?:KEY|TOKEN)',
      '\\bunauthori[sz]ed\\b|unauthenticated|\\bpermission_denied\\b|request not allowed|^\\W*40[13]\\b',
      'unsupported_country|(?:country|region|location)\\b.{0,40}\\bnot (?:supported|available)|not (?:supported|available) in your (?:country|region|location)',
      '(?:account|organi[sz]ation|user) (?:\\S{1,60} )?(?:has been|have been|is|was) (?:\\w+ )?(?:disabled|suspended|deactivated|banned|restricted)',
      '(?:account|organi[sz]ation|subscription|plan|user) does not (?:have access|include|allow|permit)',
      '\\b(?:status|error|code)\\W{0,3}40[13]\\b',
    ),
    'auth',
  ],
]

const lines = (text: string): readonly string[] => text.split('\n').map(line => line.trim())

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

const alarm = /^(?:\w*error|fatal|panic(?:ked)?|unknown (?:argument|option)s?)\b.{0,40}:/i
const chatter =
  /^(?:at |warn|note|tip|info|debug|usage|for more information|node\.js v|reading additional input|ripgrep (?:is )?not available)|^\P{L}*$/iu

const howEnded = (name: string, { exitCode, signal }: EngineEnd): string => {
  if (signal !== undefined) return `The CLI of ${name} was ended by ${signal}.`
  if (exitCode === undefined || exitCode === 0) return `The CLI of ${name} ended without an answer.`
  return `The CLI of ${name} ended with exit status ${exitCode}.`
}
