import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import * as io from 'io-ts/lib/index.js'
import { decode, leaf, sayMismatch } from '../../src/protocol/decode.ts'

const count = leaf('a count', (value): value is number => Number.isSafeInteger(value))
const limit = io.exact(io.partial({ usd: count }))
const codec = io.intersection([
  io.type({ all: io.array(count) }),
  io.partial({ of: io.record(io.string, limit), either: io.union([count, io.type({ at: count })]) }),
])

const wrong = (value: unknown): readonly string[] => {
  const read = decode(codec, value)
  return E.isLeft(read) ? read.left.map(sayMismatch) : []
}

test('what does not fit is told with its path, as people name it, all of it at once', t => {
  t.deepEqual(wrong({ all: [1], of: { x: { usd: 1 } }, either: { at: 1 } }), [])
  t.deepEqual(wrong(5), ['it must be an object, not 5'])
  t.deepEqual(wrong({ all: 5, of: 5 }), ['all must be a list, not 5', 'of must be an object, not 5'])
  t.deepEqual(wrong({ all: [1, 'x'], of: { x: 5, y: { usd: [] } } }), [
    'all.1 must be a count, not "x"',
    'of.x must be an object, not 5',
    'of.y.usd must be a count, not a list',
  ])
  t.deepEqual(wrong({ all: [], either: { at: {} } }), [
    'either must be a count, not an object',
    'either.at must be a count, not an object',
  ])
})
