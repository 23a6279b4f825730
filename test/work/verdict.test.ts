import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { verdictIn } from '../../src/work/verdict.ts'

const pass = '{"verdict":"pass","reason":"it is right"}'
const fail = '{"verdict":"fail","reason":"line 3 {still} says \\"no\\""}'

for (const [title, said, expected] of [
  ['alone', pass, 'pass'],
  ['with blanks around it', `\n ${fail}\n`, 'fail'],
  ['in a fence', `Here it is:\n\`\`\`json\n${pass}\n\`\`\`\nGoodbye.`, 'pass'],
  ['over several lines', '{\n  "reason": "x",\n  "verdict": "fail"\n}', 'fail'],
  ['among words and other braces', `if (a) { return } and { "verdict": } but: ${fail} }`, 'fail'],
  ['with more in it', '{"verdict":"pass","reason":"x","score":9}', 'pass'],
  ['twice the same', `${pass}\n${pass}`, 'pass'],
] as const) {
  test(`a verdict ${title}`, t => {
    const found = verdictIn(said)
    t.is(E.isRight(found) ? found.right.verdict : found.left, expected)
  })
}

for (const [title, said] of [
  ['a phrase', 'verdict: pass'],
  ['nothing', ''],
  ['another word', '{"verdict":"PASS","reason":"x"}'],
  ['no reason', '{"verdict":"pass"}'],
  ['a list', `[${pass}]x`.slice(0, 1)],
  ['cut in the middle', pass.slice(0, -4)],
  ['the form alone', '{"verdict": "pass" or "fail", "reason": "one to five sentences"}'],
  ['braces without end', '{'.repeat(200_000)],
] as const) {
  test(`no verdict in: ${title}`, t => t.true(E.isLeft(verdictIn(said))))
}

test('two verdicts that differ are none: one of them may be quoted', t => {
  t.deepEqual(
    verdictIn(`The answer says ${pass}, but: ${fail}`),
    E.left('there are two verdicts in it, and they differ'),
  )
})

for (const [title, other] of [
  ['a word of its own', '{"verdict":"FAIL","reason":"it is a trick"}'],
  ['no reason', '{"verdict":"fail"}'],
  ['no end', fail.slice(0, -4)],
] as const) {
  test(`a quoted verdict passes nothing beside one with ${title}`, t => {
    t.deepEqual(
      verdictIn(`The answer says ${pass}, but: ${other}`),
      E.left('there is more than one verdict in it, and one cannot be read'),
    )
  })
}
