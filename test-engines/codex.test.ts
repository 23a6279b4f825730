import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { testCommon } from './common.ts'
import { answerOf, turn } from './turn.ts'

testCommon('codex', { cost: { microUsd: 1840, basis: 'priced' }, model: 'gpt-5' })

test('with `full` its shell finds `errand`, and the token of its turn', async t => {
  const ran = await turn(t, 'codex', { mode: 'tool', settings: { access: 'full' } })
  t.regex(answerOf(t, ran), /errand ran: talk worker over to you with token-of-this-turn/)
})

const writing = 'echo written > made.txt'

test('with `read` it writes nothing, with `write` it does', async t => {
  const reader = await turn(t, 'codex', { mode: 'tool', command: writing, settings: { access: 'read' } })
  answerOf(t, reader)
  t.false(existsSync(join(reader.cwd, 'made.txt')))
  const writer = await turn(t, 'codex', { mode: 'tool', command: writing, settings: { access: 'write' } })
  answerOf(t, writer)
  t.is(await readFile(join(writer.cwd, 'made.txt'), 'utf8'), 'written\n')
})
