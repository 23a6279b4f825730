import { readFileSync } from 'node:fs'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { viewOf } from '../../src/engine/json-view.ts'
import { loadEngine } from '../../src/engine/load.ts'
import { judgeOf } from './one-stream.ts'
import { type Recording, variationsOf } from './variations.ts'

/** Of each CLI, a turn that succeeded and one whose records say why it failed. */
const recordings: Readonly<Record<string, readonly [succeeded: string, failed: string, code: string]>> = {
  claude: ['success-stream-json', 'http-401-stream-json', 'auth'],
  codex: ['success', 'http-429', 'rate_limited'],
  copilot: ['success', 'http-401', 'auth'],
  gemini: ['success-stream-json', 'http-401-stream-json', 'auth'],
  opencode: ['success', 'http-401', 'auth'],
  pi: ['success', 'http-429', 'rate_limited'],
  qwen: ['success-stream-json', 'http-401-stream-json', 'auth'],
}

const read = (engine: string, file: string): string =>
  readFileSync(new URL(`../fixtures/transcripts/${engine}/${file}`, import.meta.url), 'utf8')

const recordOf = async (name: string): Promise<Recording> => {
  const [succeeded = '', failed = '', code = ''] = recordings[name] ?? []
  const engine = await loadEngine(name, '/')()
  if (E.isLeft(engine)) throw new Error(engine.left)
  const linesOf = (scenario: string) =>
    read(name, `${scenario}.stdout`)
      .split('\n')
      .filter(line => line !== '')
  const lines = linesOf(succeeded)
  const events = lines.map(line => engine.right.decode(viewOf(JSON.parse(line))))
  const endAt = events.findLastIndex(all => all.some(event => event.kind === 'result'))
  const answerAt = events.findLastIndex(all => all.some(event => event.kind === 'text' && event.text !== ''))
  const mayGoOn = (events[endAt] ?? []).some(event => event.kind === 'result' && event.mayGoOn === true)
  const [piece] = (events[answerAt] ?? []).flatMap(event => (event.kind === 'text' ? event : []))
  const between = piece?.delta === true ? '' : piece?.message ? '\n\n' : undefined
  return {
    ...{ lines, endAt, answerAt, mayGoOn, code },
    ...(between === undefined ? {} : { between }),
    text: piece?.text ?? '',
    failed: linesOf(failed),
  }
}

for (const name of Object.keys(recordings)) {
  test(`${name}: no success with half an answer, no failure of a turn that was completed`, async t => {
    const recording = await recordOf(name)
    t.regex(recording.text, /^MOCK-OK/)
    const judge = await judgeOf(name)
    const variations = variationsOf(recording)
    const wrong: string[] = []
    for (const variation of variations) {
      const judged = await judge(variation)
      const { expected } = variation
      const isRight =
        'text' in judged
          ? 'text' in expected && judged.text === expected.text
          : !('text' in expected) && (expected.code ?? judged.code) === judged.code
      if (!isRight)
        wrong.push(
          `${variation.name}: ${JSON.stringify({ ...judged, report: undefined })}, not ${JSON.stringify(expected)}`,
        )
    }
    t.deepEqual(wrong, [])
    t.log(`${variations.length} variations`)
    t.true(variations.length > 60)
  })
}

const noNumbers = [
  '-5',
  '-1200',
  '1e999',
  '-1e999',
  'NaN',
  '"0.40"',
  '"0,40"',
  'null',
  'true',
  '[]',
  '{}',
  '0.5',
  '123456789012.5',
  '9007199254740993',
]

for (const name of Object.keys(recordings)) {
  test(`${name}: numbers that are none never become money, and take no answer away`, async t => {
    const { lines, text } = await recordOf(name)
    const judge = await judgeOf(name)
    const tokens =
      /(?<="\w*(?:tokens|token_count|cost|costusd|input|output|cached|cacheread|cachewrite|total)\w*":)[\d.]+/gi
    t.true(lines.some(line => tokens.test(line)) || name === 'copilot')
    for (const number of noNumbers) {
      const stdout = Buffer.from(lines.map(line => `${line.replaceAll(tokens, number)}\n`).join(''))
      const judged = await judge({ stdout, exit: { exitCode: 0 } })
      t.is('text' in judged ? judged.text : judged.sentence, text, number)
      const { cost, tokens: counted } = judged.report
      t.true(Number.isSafeInteger(cost.microUsd) && cost.microUsd >= 0 && cost.microUsd <= 10_000_000_000, number)
      t.true(Number.isSafeInteger(counted) && counted >= 0, number)
    }
  })
}
