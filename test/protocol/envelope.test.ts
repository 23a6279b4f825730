import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { decodeEnvelope, failureEnvelope, successEnvelope } from '../../src/protocol/envelope.ts'
import { failure } from '../../src/protocol/failure.ts'
import { decodeTalkRequest } from '../../src/protocol/talk-request.ts'

const good = { fromInstance: 'reviewer', prompt: 'hi', depth: 1 }
const facts = { fromInstance: 'worker', durationMs: 12.4 }

test('a talk is read in the legacy and in the v1 shape, unknown fields aside', t => {
  t.deepEqual(decodeTalkRequest(good), E.right(good))
  const v1 = { ...good, protocolVersion: 1, capabilities: ['structured-errors'], traceId: 'x' }
  const read = decodeTalkRequest(v1)
  t.true(E.isRight(read))
  t.true(E.isRight(decodeTalkRequest({ ...good, protocolVersion: 7 })))
})

test('-0 is depth 0', t => {
  const read = decodeTalkRequest({ ...good, depth: -0 })
  t.true(E.isRight(read) && Object.is(read.right.depth, 0))
})

test('what is no talk is refused with a sentence that names the field and what it must be', t => {
  const rows: readonly [unknown, RegExp][] = [
    [null, /it must be an object, not null/],
    [[], /it must be an object, not a list/],
    [{}, /fromInstance must be a non-empty string, not missing; prompt must be .*; depth must be/],
    [{ ...good, fromInstance: '  ' }, /fromInstance must be a non-empty string, not an empty string/],
    [{ ...good, prompt: '' }, /prompt must be a non-empty string/],
    [{ ...good, prompt: 'a\0b' }, /prompt must be .* without NUL characters/],
    [{ ...good, prompt: 'a\ud800b' }, /lone surrogates/],
    [{ ...good, prompt: 'the words of a person\0' }, /^(?!.*the words of a person)/],
    [{ ...good, depth: 0.5 }, /depth must be a non-negative integer, not 0.5/],
    [{ ...good, depth: -1 }, /depth must be a non-negative integer, not -1/],
    [{ ...good, depth: Number.POSITIVE_INFINITY }, /depth must be a non-negative integer/],
    [{ ...good, depth: '1' }, /depth must be a non-negative integer, not "1"/],
    [{ ...good, protocolVersion: '1' }, /protocolVersion must be a positive integer, not "1"/],
    [{ ...good, protocolVersion: 0 }, /protocolVersion must be a positive integer, not 0/],
    [{ ...good, capabilities: ['a', 5] }, /capabilities must be a list of strings/],
    [{ ...good, capabilities: {} }, /capabilities must be a list of strings, not an object/],
  ]
  for (const [value, sentence] of rows) {
    const read = decodeTalkRequest(value)
    t.true(E.isLeft(read), JSON.stringify(value))
    if (E.isLeft(read)) t.regex(read.left.sentence, sentence)
  }
})

test('what is written can be read back', t => {
  const success = successEnvelope('text', { ...facts, ext: { turn: 'a', costUsd: 0.1 } })
  t.deepEqual(decodeEnvelope(JSON.parse(JSON.stringify(success)), facts), E.right(success))
  const refused = failureEnvelope(failure('rate_limited', 'Later.', 1500), facts)
  t.deepEqual(decodeEnvelope(JSON.parse(JSON.stringify(refused)), facts), E.right(refused))
  t.is(refused.ext?.retryAfterMs, 1500)
  t.is(refused.durationMs, 12)
})

test('a legacy failure is unknown and retryable; an empty code too; the wire outweighs the table', t => {
  const read = (value: unknown) => E.toUnion(decodeEnvelope(value, facts))
  t.like(read({ success: false, error: 'x' }), { errorCode: 'unknown', retryable: true })
  t.like(read({ success: false, error: 'x', errorCode: '' }), { errorCode: 'unknown', retryable: true })
  t.like(read({ success: false, error: 'x', errorCode: 'timeout', retryable: false }), { retryable: false })
  t.like(read({ success: false, error: 'x', errorCode: 'brand_new' }), { errorCode: 'brand_new', retryable: true })
  t.like(read({ success: false, error: 'x', errorCode: 'auth', retryable: 'no' }), { retryable: false })
  t.like(read({ success: false, error: 'a\nb\u001b[31mc' }), { error: 'a bc' })
})

test('what is no envelope says why', t => {
  for (const value of [
    null,
    [],
    'x',
    1,
    {},
    { success: 'true', text: 'hi' },
    { success: true, text: 5 },
    { success: true },
  ]) {
    t.true(E.isLeft(decodeEnvelope(value, facts)), JSON.stringify(value))
  }
  t.true(E.isLeft(decodeEnvelope({ success: false }, facts)))
})
