import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 4110, basis: 'reported' }, model: 'mock/mock-model', session: /^ses_\w+$/ })

// It has no switch for its retries, which take it up to 85 s, and says nothing of them before the first round is over.
const withinMs = 120_000

liveSuite('opencode', {
  ...common,
  'too many requests': { ...common['too many requests'], withinMs },
  'too many requests, and when to come back': { ...common['too many requests, and when to come back'], withinMs },
  'a failing server': { ...common['a failing server'], withinMs },
  'a server out of service': { ...common['a server out of service'], withinMs },
  'an overloaded model': { ...common['an overloaded model'], withinMs },
  'nobody listens': { ...common['nobody listens'], withinMs },
})
