import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { turn } from './replay.ts'

const fixtures = join(import.meta.dirname, '..', 'fixtures')
const file = join(fixtures, 'engines', 'example.mjs')

const replayed = (scenario: string): readonly string[] => [
  process.execPath,
  join(fixtures, 'engines', 'replay.mjs'),
  join(fixtures, 'transcripts', 'gemini', scenario),
]

test('the guide shows this very file', async t => {
  const guide = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'engines.md'), 'utf8')
  t.true(guide.includes(`\`\`\`js\n${await readFile(file, 'utf8')}\`\`\``))
})

test('the engine of the guide answers, and is priced by the list', async t => {
  const report = await turn(t, file, { cli: replayed('success') })
  t.is(
    E.isRight(report.outcome) && report.outcome.right.text,
    'MOCK-OK model=gemini-2.5-pro msgs=2 users=1 lastlen=513 chars=23845 saw1=true tools=8 lastrole=user',
  )
  t.deepEqual(
    { ...report, outcome: undefined, partialText: undefined },
    {
      outcome: undefined,
      partialText: undefined,
      session: 'f555457e-fa0e-46a5-8f24-a55d749b68ab',
      model: 'gemini-2.5-pro',
      tokens: 1234,
      cost: { microUsd: 1840, basis: 'priced' },
    },
  )
})

test('the engine of the guide says why it failed', async t => {
  const rows = [
    ['http-401', 'auth', 'API keys are not supported by this API.'],
    ['nologin-fresh', 'auth', 'Please set an Auth method'],
    ['empty-stream', 'engine_cli', 'ended without an answer'],
  ] as const
  for (const [scenario, code, says] of rows) {
    const { outcome } = await turn(t, file, { cli: replayed(scenario) })
    if (E.isRight(outcome)) return t.fail(outcome.right.text)
    t.is(outcome.left.code, code, scenario)
    t.true(outcome.left.sentence.includes(says), outcome.left.sentence)
  }
})
