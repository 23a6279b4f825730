import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 1840, basis: 'priced' }, model: 'gemini-2.5-pro', session: /^[\da-f-]{36}$/ })

liveSuite('gemini', common)
