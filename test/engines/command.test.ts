import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { turn } from './replay.ts'

const node = (program: string): readonly [string, ...string[]] => [
  process.execPath,
  '--input-type=module',
  '-e',
  program,
]

const echo = `
  const parts = []
  for await (const part of process.stdin) parts.push(part)
  process.stdout.write(Buffer.concat(parts))`

test('a program gets the prompt byte for byte, and its stdout is the answer', async t => {
  for (const prompt of ['/cost', '-p --help', '  two\n\nlines  ', 'naïve ≤ 猫 😀', '{"type":"result"}']) {
    const report = await turn(t, 'command', { cli: node(echo) }, prompt)
    t.is(E.isRight(report.outcome) && report.outcome.right.text.trim(), prompt.trim())
    t.deepEqual(report.cost, { microUsd: 0, basis: 'none' })
  }
})

test('what it appends to its report is its cost', async t => {
  const program = `
    import { appendFileSync } from 'node:fs'
    for (const usd of [0.01, 0.02]) appendFileSync(process.env.ERRAND_REPORT, JSON.stringify({ usd, tokens: 600 }) + '\\n')
    console.log('done')`
  const report = await turn(t, 'command', { cli: node(program) })
  t.deepEqual(report.cost, { microUsd: 30_000, basis: 'reported' })
  t.is(report.tokens, 1200)
})

test('a program that fails says why in its own words', async t => {
  const rows = [
    [
      `console.error('starting'); console.error('Error: no such file: /tmp/job-401/log'); process.exit(3)`,
      'engine_cli',
      'no such file',
    ],
    [`console.log('Not logged in'); process.exit(1)`, 'auth', 'Not logged in'],
    [`process.exit(9)`, 'engine_cli', 'exit status 9'],
    [`process.kill(process.pid, 'SIGKILL')`, 'engine_cli', 'SIGKILL'],
  ] as const
  for (const [program, code, says] of rows) {
    const { outcome } = await turn(t, 'command', { cli: node(program) })
    if (E.isRight(outcome)) return t.fail(outcome.right.text)
    t.is(outcome.left.code, code)
    t.true(outcome.left.sentence.includes(says), outcome.left.sentence)
  }
})
