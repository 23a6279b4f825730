import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { decodeEnvelope, failureEnvelope, successEnvelope } from '../../src/protocol/envelope.ts'
import { failure } from '../../src/protocol/failure.ts'
import { decodeTalkRequest } from '../../src/protocol/talk-request.ts'
import { capabilitiesFor } from '../../src/protocol/version.ts'

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

test('a refusal says each field once, as people name it, and tells no more of a value than fits', t => {
  const refusal = (value: unknown): string => {
    const read = decodeTalkRequest(value)
    return E.isLeft(read) ? `${read.left.code}: ${read.left.sentence}` : ''
  }
  const depth = 'depth must be a non-negative integer'
  const thread = 'ext.thread must be a name of 1 to 100 letters, digits, dots, dashes, underscores, colons and slashes'
  const root = 'ext.root must be the id of a piece of work, 1 to 64 letters and digits'
  const rows: readonly [unknown, string][] = [
    [{ ...good, depth: 'x'.repeat(58) }, `${depth}, not "${'x'.repeat(58)}"`],
    [{ ...good, depth: 'x'.repeat(59) }, `${depth}, not "${'x'.repeat(59)}…`],
    [{ ...good, depth: ' ' }, `${depth}, not an empty string`],
    [{ ...good, depth: null }, `${depth}, not null`],
    [{ ...good, depth: Number.NaN }, `${depth}, not NaN`],
    [{ ...good, depth: [1] }, `${depth}, not a list`],
    [{ ...good, depth: {} }, `${depth}, not an object`],
    [{ ...good, depth: false }, `${depth}, not false`],
    [{ ...good, fromInstance: 5 }, 'fromInstance must be a non-empty string, not 5'],
    [{ ...good, ext: 5, depth: -1 }, `${depth}, not -1; ext must be an object, not 5`],
    [{ ...good, ext: { thread: '' } }, `${thread}, not an empty string`],
    [{ ...good, ext: { root: '' } }, `${root}, not an empty string`],
    [{ ...good, prompt: 5 }, 'prompt must be a non-empty string without NUL characters or lone surrogates, not 5'],
    [
      { ...good, prompt: 'words\0' },
      'prompt must be a non-empty string without NUL characters or lone surrogates, not one with them',
    ],
    [
      { ...good, prompt: `${'words '.repeat(20)}\0` },
      'prompt must be a non-empty string without NUL characters or lone surrogates, not one with them',
    ],
    [
      { ...good, prompt: ' \n' },
      'prompt must be a non-empty string without NUL characters or lone surrogates, not an empty string',
    ],
    ['words', 'it must be an object, not "words"'],
    [undefined, 'it must be an object, not missing'],
  ]
  for (const [value, wrong] of rows) t.is(refusal(value), `invalid_request: The request is not a talk: ${wrong}.`)
})

test('what a thread and a piece of work may be called', t => {
  const isRead = (ext: unknown): boolean => E.isRight(decodeTalkRequest({ ...good, ext }))
  for (const thread of ['a', '7', 'A.b_c:d/e-f', 'x'.repeat(100)]) t.true(isRead({ thread }), thread)
  for (const thread of ['', '.a', '/a', '-a', 'a b', 'a\n', '\na', 'ä', 'x'.repeat(101), 5]) t.false(isRead({ thread }))
  for (const root of ['a', 'Z9', 'x'.repeat(64)]) t.true(isRead({ root }), root)
  for (const root of ['', 'a b', ' a', 'a ', 'a\n', '\na', 'a-b', 'x'.repeat(65), 5]) t.false(isRead({ root }))
  t.true(isRead({ unheardOf: 5 }))
  for (const ext of [null, 5, 'x']) t.false(isRead(ext))
})

test('a reply lists what was added to those who named it, and nothing that nobody carries out', t => {
  const all = ['structured-errors', 'retryable-errors']
  t.deepEqual(capabilitiesFor([]), all)
  t.deepEqual(capabilitiesFor(['time-travel', 'structured-errors']), all)
  t.deepEqual(capabilitiesFor(['time-travel', 'progress-events']), [...all, 'progress-events'])
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
