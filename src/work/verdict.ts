import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf } from '../protocol/decode.ts'

/** What a judge says of an answer. */
export interface Verdict {
  readonly verdict: 'pass' | 'fail'
  /** Why, in the judge's words; what is to be put right where it failed. */
  readonly reason: string
}

/** What is asked of a judge. */
export const judgePrompt = (prompt: string, answer: string, criteria: string | undefined): string =>
  [
    'You are the judge of an answer that somebody else gave. Do not do the work yourself; say whether the answer may stand.',
    criteria === undefined ? 'It passes if it does what was asked, and is right.' : `It passes if: ${criteria}`,
    quoted('request', prompt),
    quoted('answer', answer),
    askForVerdict,
  ].join('\n\n')

/** What a judge is asked that gave no verdict. */
export const judgeAgain = (asked: string, why: string): string =>
  `${asked}\n\nYou were asked this before, and what you said could not be read: ${why}. The JSON object alone, please.`

/** What an answerer is asked whose answer did not pass; `quotes` its answer where it will not remember it. */
export const answerAgain = (prompt: string, answer: string, { reason }: Verdict, quotes: boolean): string =>
  quotes
    ? [prompt, 'You answered this before:', quoted('answer', answer), notGood(reason), again].join('\n\n')
    : [notGood(reason), again].join('\n\n')

const askForVerdict =
  'Answer with one JSON object and nothing else: {"verdict": "pass" or "fail", "reason": "one to five sentences: why, and what ' +
  'must be put right"}'

const notGood = (reason: string): string => `Your answer was judged not good enough: ${reason}`

const again = 'Put that right, and give the whole answer again.'

const quoted = (name: string, text: string): string => `<${name}>\n${text}\n</${name}>`

/**
 * The verdict in what a judge said: a JSON object, alone, in a fence, or among words. Left: why there is none; two that differ
 * are none, since one of them may be quoted, and nothing passes beside another that cannot be read.
 */
export const verdictIn = (said: string): E.Either<string, Verdict> => {
  const found = objectsIn(said).flatMap(value => {
    const decoded = decode(verdictCodec, value)
    return E.isRight(decoded) ? [decoded.right] : []
  })
  const [first, ...others] = found
  if (first === undefined) return E.left('there is no JSON object with "verdict" ("pass" or "fail") and "reason" in it')
  if (!others.every(({ verdict }) => verdict === first.verdict))
    return E.left('there are two verdicts in it, and they differ')
  return first.verdict === 'pass' && mentionsIn(said) > found.length
    ? E.left('there is more than one verdict in it, and one cannot be read')
    : E.right({ verdict: first.verdict, reason: first.reason })
}

const mentionsIn = (said: string): number => said.slice(-tailLength).match(/"verdict"\s*:/g)?.length ?? 0

// No more is looked at: a verdict stands at the end of few words.
const tailLength = 64 * 1024
const mostObjects = 40

const objectsIn = (said: string): readonly unknown[] => {
  const tail = said.slice(-tailLength)
  const whole = parsed(tail.trim())
  if (whole !== undefined) return [whole]
  const starts = [...tail.matchAll(/\{/g)].map(({ index }) => index).slice(-mostObjects)
  return starts.flatMap(start => {
    const end = endOfObject(tail, start)
    const value = end === undefined ? undefined : parsed(tail.slice(start, end))
    return value === undefined ? [] : [value]
  })
}

/** Behind the brace that closes it; braces in strings do not count. */
const endOfObject = (text: string, start: number): number | undefined => {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{') depth += 1
    else if (character === '}') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const verdictCodec: t.Decoder<unknown, Verdict> = t.type({
  verdict: t.union([t.literal('pass'), t.literal('fail')]),
  reason: leaf('a string', (value): value is string => typeof value === 'string'),
})
