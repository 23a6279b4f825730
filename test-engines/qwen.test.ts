import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({ cost: { microUsd: 0, basis: 'unknown' }, model: 'qwen3-coder-plus', session: /^[\da-f-]{36}$/ })

// A second request of each turn reads its memory, and is paid.
const withMemory = { tokens: 2468 }

liveSuite('qwen', {
  ...common,
  'an answer': { ...common['an answer'], ...withMemory },
  'a prompt of 200 KB': { ...common['a prompt of 200 KB'], ...withMemory },
  'a prompt that looks like a flag': { ...common['a prompt that looks like a flag'], ...withMemory },
  'a prompt that looks like a command': { ...common['a prompt that looks like a command'], ...withMemory },
  instructions: { ...common.instructions, ...withMemory },
  'long instructions': { ...common['long instructions'], ...withMemory },
  'a session goes on': { ...common['a session goes on'], ...withMemory },
  'too many requests, and when to come back': {
    ...common['too many requests, and when to come back'],
    withinMs: 90_000,
  },
  // The model has no price, so that dollars limit nothing here.
  'the hold is crossed in mid-turn': { ...common['the hold is crossed in mid-turn'], allowance: { tokens: 200_000 } },
})
