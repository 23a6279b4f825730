import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { isRunning } from '../src/process/identity.ts'
import { processesWithMark } from '../src/process/mark.ts'
import type { Expected } from './expectations.ts'
import { retryAfterMs } from './refusals.ts'
import type { Played } from './scenarios.ts'
import type { Bench, Ran } from './turn.ts'

/** What became of a turn, in a line. */
export const explained = ({ report, ms, asked }: Ran): string => {
  const { outcome, cost, tokens } = report
  const what = E.isRight(outcome)
    ? `answered "${outcome.right.text.slice(0, 160)}"`
    : `${outcome.left.code}: "${outcome.left.sentence.slice(0, 300)}"`
  const back =
    E.isLeft(outcome) && outcome.left.retryAfterMs !== undefined ? `, back in ${outcome.left.retryAfterMs} ms` : ''
  return `${what}${back}; ${ms} ms, ${asked} requests, ${cost.microUsd} µ$ (${cost.basis}), ${tokens} tokens`
}

/** Whatever was not as expected, in sentences that name the CLI, its version, and what it said. */
export const unlike = async (
  { name, engine }: Bench,
  version: string,
  scenario: string,
  expected: Expected,
  played: readonly Played[],
): Promise<readonly string[]> => {
  const faults: string[] = []
  for (const ran of played) {
    const wrong = [...differences(expected, ran), ...(await leftovers(ran))]
    if (wrong.length === 0) continue
    const who = `${name} ${version} (its engine was checked against ${engine.checkedAgainst})`
    faults.push(`${who} does otherwise with ${scenario}: ${wrong.join('; ')}. It ${explained(ran)}.${lastWords(ran)}`)
  }
  return faults
}

const differences = (expected: Expected, ran: Played): readonly string[] => {
  const { report, ms, made, mustSay, notBeforeMs = 0, begun = true } = ran
  const { outcome, cost, tokens, model, session = '' } = report
  const answer = E.isRight(outcome) ? outcome.right.text : undefined
  const failed = E.isLeft(outcome) ? outcome.left : undefined
  const told = failed?.retryAfterMs
  const facts: readonly (readonly [string, unknown, unknown, boolean])[] = [
    ['outcome', expected.outcome, failed?.code ?? 'answer', expected.outcome === (failed?.code ?? 'answer')],
    ['most ms', expected.withinMs, ms, ms <= expected.withinMs],
    ['least ms', notBeforeMs, ms, ms >= notBeforeMs],
    ['an answer begun', true, begun, begun],
    ['micro-dollars', expected.cost?.microUsd, cost.microUsd, is(expected.cost?.microUsd, cost.microUsd)],
    [
      'basis',
      expected.cost?.basis ?? expected.basis,
      cost.basis,
      is(expected.cost?.basis ?? expected.basis, cost.basis),
    ],
    ['tokens', expected.tokens, tokens, is(expected.tokens, tokens)],
    ['model', expected.model, model, is(expected.model, model)],
    ['session', expected.session, session, expected.session?.test(session) !== false],
    ['answer', mustSay, answer, answer === undefined || mustSay?.test(answer) !== false],
    ['sentence', expected.sentence, failed?.sentence, expected.sentence?.test(failed?.sentence ?? '') !== false],
    ['file made', expected.made, made, is(expected.made, made)],
    ['most ms to come back', retryAfterMs, told, expected.comesBack !== true || isSoon(told)],
  ]
  return facts
    .filter(([, , , holds]) => !holds)
    .map(([what, wanted, got]) => `${what}: expected ${show(wanted)}, not ${show(got)}`)
}

const is = (wanted: unknown, got: unknown): boolean => wanted === undefined || wanted === got

// Some CLIs tell their own wait, which is longer by a share, so that not all of them come back at once.
const isSoon = (told: number | undefined): boolean => told !== undefined && told > 0 && told <= 1.25 * retryAfterMs

const show = (value: unknown): string =>
  value instanceof RegExp ? String(value) : (JSON.stringify(value) ?? 'nothing')

// What left the group by itself is swept a moment after the reply.
const leftovers = async ({ process, mark }: Ran): Promise<readonly string[]> => {
  if (process !== undefined && isRunning(process)) return [`its process ${process.pid} still runs`]
  const giveUpAt = performance.now() + 5000
  while (performance.now() < giveUpAt && (await processesWithMark([mark])).length > 0) await sleep(50)
  const left = await processesWithMark([mark])
  return left.length === 0 ? [] : [`it left processes behind: ${left.map(({ pid }) => pid).join(', ')}`]
}

const lastWords = ({ heard: { records, end } }: Ran): string =>
  [
    ...records.map(record => `\n  record: ${record}`),
    ...(end?.noise ? [`\n  stdout: ${end.noise.slice(-1500)}`] : []),
    ...(end?.stderr ? [`\n  stderr: ${end.stderr.slice(-1500)}`] : []),
  ].join('')
