import test from 'ava'
import { budgetExhausted, failure, oneLine } from '../../src/protocol/failure.ts'

test('a sentence is one line without markup, control characters or keys', t => {
  t.is(oneLine('one\r\n  two\tthree\u0000'), 'one two three')
  t.is(oneLine('\u001b[31mred\u001b[0m \u001b]0;title\u0007text'), 'red text')
  t.is(oneLine('<html><body>captive portal</body></html>'), 'captive portal')
  t.is(oneLine('a < b and c > d'), 'a < b and c > d')
  t.is(oneLine('key sk-ant-api03-abcdefgh refused'), 'key [key] refused')
  t.is(oneLine('Authorization: Bearer abc.def'), 'Authorization: [key]')
  t.is(oneLine('right\u202eto left'), 'rightto left')
  t.is(oneLine('lone \ud800 surrogate'), 'lone surrogate')
})

test('a sentence is at most 2 KB, cut between characters', t => {
  const cut = oneLine('ä'.repeat(5000))
  t.true(Buffer.byteLength(cut) <= 2048)
  t.regex(cut, /^ä+…$/)
})

test('64 MB of noise become a sentence at once', t => {
  const started = process.cpuUsage().user
  t.true(Buffer.byteLength(oneLine('<'.repeat(64 * 1024 * 1024))) <= 2048)
  t.true(process.cpuUsage(undefined).user - started < 2_000_000)
})

test('a failure without words says its code', t => {
  t.is(failure('engine_cli', ' \n').sentence, 'engine_cli')
})

test('the sentence of the protocol', t => {
  t.is(budgetExhausted(1_200_000, 1_000_000).sentence, 'Budget exhausted: $1.2000 used of $1.00.')
})
