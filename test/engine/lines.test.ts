import test from 'ava'
import { linesOf } from '../../src/engine/lines.ts'

const linesIn = (...chunks: readonly (string | Uint8Array)[]): { readonly lines: readonly string[]; begun: string } => {
  const lines: string[] = []
  const reader = linesOf(line => void lines.push(line))
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  const begun = reader.begun()
  reader.end()
  return { lines, begun }
}

test('a line is told whole, however it comes, without control bytes', t => {
  t.deepEqual(linesIn('one\ntw', 'o\r\n\n  \nthr', 'ee').lines, ['one', 'two', 'three'])
  t.deepEqual(linesIn(...[...Buffer.from('naïve 😀\n')].map(byte => Uint8Array.of(byte))).lines, ['naïve 😀'])
  t.deepEqual(linesIn('\u001b[31mred\u001b[0m\u0007\n').lines, ['red'])
  t.deepEqual(linesIn('10 %\r20 %\rdone\n').lines, ['10 %', '20 %', 'done'])
})

test('what is not ended yet can be looked at, as long as it is short', t => {
  t.is(linesIn('a\nPress Enter').begun, 'Press Enter')
  t.is(linesIn('a\n').begun, '')
  t.is(linesIn('x'.repeat(2000)).begun, '')
})

test('of a long line the beginning is kept, and much of it costs time in proportion', t => {
  t.is(
    linesIn('x'.repeat(100_000), 'y\nz')
      .lines.map(line => line.length)
      .join(),
    `${16 * 1024},1`,
  )
  const hostile = Buffer.from(`${'\u001b]'.repeat(500_000)}\n${'\u001b[;'.repeat(5000)}\n`.repeat(4))
  const begun = performance.now()
  linesIn(hostile)
  t.true(performance.now() - begun < 2000)
})
