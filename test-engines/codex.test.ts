import test from 'ava'
import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gpt-5', session: /^[\da-f-]{36}$/ })

const { play } = liveSuite('codex', {
  ...common,
  // It waits as long as it was told before it says that it was limited at all, and never says how long.
  'too many requests, and when to come back': {
    ...common['too many requests, and when to come back'],
    comesBack: false,
    withinMs: 90_000,
  },
  // Its notices are far between, and one alone is not enough.
  'nobody listens': { ...common['nobody listens'], withinMs: 120_000 },
  // It answers in a thread of its own making, and that is paid; the bus tells that the session is another one.
  'a session that is none': { ...common['an answer'], cost: { microUsd: 1840, basis: 'priced' } },
  // Its file tool is its shell, and a command that failed is no refusal.
  'the file system refuses': { outcome: 'answer', withinMs: 60_000 },
  // It calls a status of 500 high demand.
  'a failing server': { ...common['a failing server'], outcome: 'rate_limited' },
})

test.serial('with `full` its shell finds `errand`, and the token of its turn', async t => {
  const { answer } = await play(t, { mode: 'tool', settings: { access: 'full' } })
  t.regex(answer ?? '', /errand ran: talk worker over to you with token-of-this-turn/)
})
