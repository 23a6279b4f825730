import { readFileSync } from 'node:fs'
import test from 'ava'
import { errorCodes, factsOf, isErrorCode } from '../../src/protocol/error-codes.ts'

const documented = [
  ...readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8').matchAll(
    /^\| `(\w+)` \| (yes|no) \| (\d+) \| (\d+) \|/gm,
  ),
].map(([, code, retryable, http, exit]) => [
  code,
  { retryable: retryable === 'yes', httpStatus: Number(http), exitStatus: Number(exit) },
])

test('the table and docs/protocol.md say the same, row by row and in the same order', t => {
  t.deepEqual(documented, Object.entries(errorCodes))
})

test('the protocol decides these, whatever our table says', t => {
  const permanent =
    'invalid_request bus_disabled auth_failed peer_not_allowed max_depth_exceeded budget_exhausted auth write_permission file_workflow workflow_state session_state'
  const transient =
    'invalid_handler_response internal_error instance_unavailable invalid_response timeout telegram_conflict telegram_delivery engine_cli unknown'
  for (const code of permanent.split(' ')) t.false(factsOf(code).retryable, code)
  for (const code of transient.split(' ')) t.true(factsOf(code).retryable, code)
})

test('exit status 75 exactly when retryable', t => {
  for (const [code, facts] of Object.entries(errorCodes)) t.is(facts.exitStatus === 75, facts.retryable, code)
})

test('a code that nobody knows is retryable; names of Object.prototype are not codes', t => {
  t.true(factsOf('quota_window_closed').retryable)
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) t.false(isErrorCode(name), name)
})
