import test from 'ava'
import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gemini-2.5-pro', session: /^[\da-f-]{36}$/ })

// Its ten attempts cannot be lowered: it is ended after 45 seconds of them.
const patient = { withinMs: 90_000 }

const { play } = liveSuite('gemini', {
  ...common,
  'too many requests': { ...common['too many requests'], ...patient },
  'too many requests, and when to come back': { ...common['too many requests, and when to come back'], ...patient },
  'a failing server': { ...common['a failing server'], ...patient },
  'a server out of service': { ...common['a server out of service'], ...patient },
  'an overloaded model': { ...common['an overloaded model'], ...patient },
  'nobody listens': { ...common['nobody listens'], ...patient },
  // What it used is told at the end alone.
  'the hold is crossed in mid-turn': { outcome: 'answer', withinMs: 60_000 },
})

test.serial('it may delegate from inside its turn, whatever else it may do', async t => {
  for (const access of ['read', 'write', 'full'] as const) {
    const { answer } = await play(t, { mode: 'tool', settings: { access } })
    t.regex(answer ?? '', /errand ran: talk worker over to you with token-of-this-turn/, access)
  }
})
