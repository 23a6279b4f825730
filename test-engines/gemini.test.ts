import test from 'ava'
import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gemini-2.5-pro', session: /^[\da-f-]{36}$/ })

const { play } = liveSuite('gemini', {
  ...common,
  // It waits as long as it was told, twice, and one notice alone is not enough.
  'too many requests, and when to come back': {
    ...common['too many requests, and when to come back'],
    withinMs: 90_000,
  },
})

test.serial('it may delegate from inside its turn, whatever else it may do', async t => {
  for (const access of ['read', 'write', 'full'] as const) {
    const { answer } = await play(t, { mode: 'tool', settings: { access } })
    t.regex(answer ?? '', /errand ran: talk worker over to you with token-of-this-turn/, access)
  }
})
