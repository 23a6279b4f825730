import test from 'ava'
import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gpt-5', session: /^[\da-f-]{36}$/ })

const { play } = liveSuite('codex', common)

test.serial('with `full` its shell finds `errand`, and the token of its turn', async t => {
  const { answer } = await play(t, { mode: 'tool', settings: { access: 'full' } })
  t.regex(answer ?? '', /errand ran: talk worker over to you with token-of-this-turn/)
})
