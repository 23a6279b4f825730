import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gpt-5', session: /^[\da-f-]{36}$/ })

liveSuite('copilot', {
  ...common,
  // It waits longer and longer between its tries, and each is told only when it failed.
  'too many requests': { ...common['too many requests'], withinMs: 80_000 },
})
