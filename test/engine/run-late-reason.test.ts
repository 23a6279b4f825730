import test from 'ava'
import claude from '../../engines/claude.ts'
import { oneTurn, script } from './one-turn.ts'

test('a turn that is being ended for a record too long is not slow as well, however long its end takes', async t => {
  const babbles = `process.on('SIGTERM', () => undefined); process.stdout.write('{"x":"' + 'x'.repeat(10000)); setInterval(() => undefined, 1000)`
  const came = await oneTurn({
    engine: claude,
    cli: [...script(babbles), '--'],
    // Its time is up between the first signal and the last.
    settings: { lineLimitBytes: 1000, timeoutMs: 3000, graceMs: 4000 },
  })
  t.is(came.code, 'engine_cli', came.sentence)
  t.regex(came.sentence, /1000 bytes/)
})
