import test from 'ava'
import { budgetExhausted, failure, oneLine } from '../../src/protocol/failure.ts'

test('a sentence is one line without markup, control characters or keys', t => {
  t.is(oneLine('one\r\n  two\tthree\u0000'), 'one two three')
  t.is(oneLine('\u001b[31mred\u001b[0m \u001b]0;title\u0007text'), 'red text')
  t.is(oneLine('<html><body>captive portal</body></html>'), 'captive portal')
  t.is(oneLine('a < b and c > d'), 'a < b and c > d')
  t.is(oneLine('key sk-ant-api03-abcdefgh refused'), 'key [key] refused')
  t.is(oneLine('Authorization: Bearer abc.def'), 'Authorization: [key]')
  t.is(oneLine('Bearer  \tabc.def and xoxb-0123456789 and xoxc-0123456789'), '[key] and [key] and xoxc-0123456789')
  t.is(oneLine(`AIza${'x_-9Z'.repeat(4)} and AIza${'x'.repeat(19)}`), `[key] and AIza${'x'.repeat(19)}`)
  t.is(oneLine('up\u001bMward'), 'upward')
  t.is(oneLine('<b>one</b><b>two</b>'), 'one two')
  t.is(oneLine('right\u202eto left'), 'rightto left')
  t.is(oneLine('lone \ud800 surrogate'), 'lone surrogate')
})

test('a sentence is at most 2 KB, cut between characters', t => {
  const cut = oneLine('ä'.repeat(5000))
  t.true(Buffer.byteLength(cut) <= 2048)
  t.regex(cut, /^ä+…$/)
  t.is(oneLine('x'.repeat(2048)), 'x'.repeat(2048))
  t.is(oneLine('x'.repeat(2049)), `${'x'.repeat(2045)}…`)
  for (const before of ['', 'x', 'xx', 'xxx']) t.regex(oneLine(before + '😀'.repeat(1000)), /^x*(?:😀)+…$/)
  t.regex(oneLine(`a\ufffdb${'ä'.repeat(5000)}`), /^a\ufffdbä+…$/)
})

test('64 MB of noise become a sentence at once', t => {
  for (const noise of ['<', '\0', '\u001b[m']) {
    const text = noise.repeat((64 * 1024 * 1024) / noise.length)
    const before = process.cpuUsage()
    t.true(Buffer.byteLength(oneLine(text)) <= 2048)
    t.true(process.cpuUsage(before).user < 1_000_000, JSON.stringify(noise))
  }
})

test('a failure without words says its code', t => {
  t.is(failure('engine_cli', ' \n').sentence, 'engine_cli')
  t.deepEqual(failure('auth', 'No.'), { code: 'auth', sentence: 'No.' })
  t.deepEqual(failure('busy', 'No.', 0), { code: 'busy', sentence: 'No.', retryAfterMs: 0 })
})

test('the sentence of the protocol', t => {
  const sentence = 'Budget exhausted: $1.2000 used of $1.00.'
  t.deepEqual(budgetExhausted(1_200_000, 1_000_000), failure('budget_exhausted', sentence))
  t.is(budgetExhausted(1_200_000, 1_000_000, "It is nobody's.").sentence, `${sentence} It is nobody's.`)
})
