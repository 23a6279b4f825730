import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({
  cost: { microUsd: 4110, basis: 'reported' },
  model: 'mock/mock-model',
  session: /^[\da-f-]{36}$/,
})

liveSuite('pi', common)
