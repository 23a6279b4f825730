import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gpt-5', session: /^[\da-f-]{36}$/ })

liveSuite('copilot', common)
