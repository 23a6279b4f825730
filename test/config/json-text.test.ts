import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { readJsonText } from '../../src/config/json-text.ts'

const fault = (text: string): string => {
  const read = readJsonText(text)
  return E.isLeft(read) ? `${read.left.line}:${read.left.column} ${read.left.what}` : 'sound'
}

test('it reads what JSON.parse reads', t => {
  for (const text of [
    '{}',
    ' [ 1, -2.5e3, "a\\u00e9\\n\\"", true, false, null, {"a": {"b": []}} ] ',
    '"x"',
    '{"constructor": 1, "toString": 2}',
  ]) {
    const read = readJsonText(text)
    t.deepEqual(E.isRight(read) ? read.right : read.left, JSON.parse(text), text)
  }
})

test('`__proto__` is a key like another one', t => {
  const read = readJsonText('{"__proto__": {"polluted": true}, "a": 1}')
  const value: unknown = E.isRight(read) ? read.right : undefined
  t.deepEqual(Object.keys(Object(value)), ['__proto__', 'a'])
  t.is(Object.getPrototypeOf(value), Object.prototype)
  t.is(Reflect.get({}, 'polluted'), undefined)
})

test('a byte order mark of an editor is no fault', t => {
  t.is(fault('\uFEFF{}'), 'sound')
})

for (const [text, expected] of [
  ['', '1:1 expected a value, found the end of the file'],
  ['{\n  "a": 1,\n}', '3:1 expected a key in double quotes, found "}"'],
  ['{"a": 1 "b": 2}', '1:9 expected "," or "}", found "\\""'],
  ["{'a': 1}", '1:2 expected a key in double quotes, found "\'"'],
  ['{\n\t"a": nope\n}', '2:7 nope is not a JSON value'],
  ['{"a": 01}', '1:7 01 is not a JSON value'],
  ['{"a": "b', '1:7 expected a value, found "\\""'],
  ['[1, 2', '1:6 expected "," or "]", found the end of the file'],
  ['{} {}', '1:4 something follows the end of the document'],
  ['{"a": 1,\n "b": {"c": 1, "c": 2}}', '2:16 the key "c" stands twice in one object'],
  ['// no\n{}', '1:1 expected a value, found "/"'],
  ['['.repeat(100), '1:65 nested deeper than 64 levels'],
] as const) {
  test(`${JSON.stringify(text.slice(0, 30))} is a fault at its place`, t => {
    t.is(fault(text), expected)
  })
}
