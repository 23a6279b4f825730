import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 0, basis: 'unknown' }, model: 'qwen3-coder-plus', session: /^[\da-f-]{36}$/ })

liveSuite('qwen', common)
