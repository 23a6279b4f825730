import test from 'ava'
import { usual } from './expectations.ts'
import { liveSuite } from './suite.ts'

const common = usual({
  cost: { microUsd: 4110, basis: 'reported' },
  model: 'claude-sonnet-4-5',
  session: /^[\da-f-]{36}$/,
})

const { play } = liveSuite('claude', common)

test.serial('its own cap ends a turn that costs more than is left', async t => {
  const { failed, report } = await play(t, { mode: 'ok', allowance: { microUsd: 4000 } })
  t.is(failed?.code, 'budget_exhausted')
  t.is(report.cost.microUsd, 4110)
})

test.serial('it may delegate from inside its turn, whatever else it may do', async t => {
  for (const access of ['read', 'write'] as const) {
    const { answer } = await play(t, { mode: 'tool', settings: { access } })
    t.regex(answer ?? '', /errand ran: talk worker over to you with token-of-this-turn/)
  }
})

test.serial('an unknown flag of the instance is told', async t => {
  const { failed } = await play(t, { mode: 'ok', settings: { args: ['--no-such-flag'] } })
  t.is(failed?.code, 'engine_cli')
  t.is(failed?.sentence, "error: unknown option '--no-such-flag'")
})
