import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { testCommon } from './common.ts'
import { answerOf, failureOf, turn } from './turn.ts'

testCommon('claude', { cost: { microUsd: 4110, basis: 'reported' }, model: 'claude-sonnet-4-5' })

test('a slash command reaches the model as a prompt, and not the CLI', async t => {
  const ran = await turn(t, 'claude', { mode: 'ok', prompt: '/cost <<SLASH>>' })
  t.true(answerOf(t, ran).includes('marks=SLASH'), answerOf(t, ran))
  t.is(ran.report.cost.microUsd, 4110)
})

test('its own cap ends a turn that costs more than is left', async t => {
  const ran = await turn(t, 'claude', { mode: 'ok', allowance: { microUsd: 4000 } })
  t.is(failureOf(t, ran).code, 'budget_exhausted')
  t.is(ran.report.cost.microUsd, 4110)
})

test('it may delegate from inside its turn, whatever else it may do', async t => {
  for (const access of ['read', 'write'] as const) {
    const ran = await turn(t, 'claude', { mode: 'tool', settings: { access } })
    t.regex(answerOf(t, ran), /errand ran: talk worker over to you with token-of-this-turn/)
  }
})

const writing = 'echo written > made.txt'

test('with `read` it writes nothing, with `full` it does', async t => {
  const reader = await turn(t, 'claude', { mode: 'tool', command: writing, settings: { access: 'read' } })
  answerOf(t, reader)
  t.false(existsSync(join(reader.cwd, 'made.txt')))
  const writer = await turn(t, 'claude', { mode: 'tool', command: writing, settings: { access: 'full' } })
  answerOf(t, writer)
  t.is(await readFile(join(writer.cwd, 'made.txt'), 'utf8'), 'written\n')
})

test('an unknown flag of the instance is told', async t => {
  const failed = failureOf(t, await turn(t, 'claude', { mode: 'ok', settings: { args: ['--no-such-flag'] } }))
  t.deepEqual(failed, { code: 'engine_cli', sentence: "error: unknown option '--no-such-flag'" })
})
