import { readFile } from 'node:fs/promises'
import test from 'ava'
import { chainAt } from '../../src/work/chain.ts'
import { answers, openDesk } from './desk.ts'

const instances = {
  a: answers('a', 'return prompt + " a"'),
  b: answers('b', 'return prompt + " b"'),
  broken: answers('broken', 'process.stderr.write("no disk"); process.exit(3)'),
}

test('each gets the answer of the one before it, as it is, behind a prompt, or through a function', async t => {
  const { site } = await openDesk(t, instances)
  const chained = await chainAt(site, {
    steps: [
      { to: 'a', prompt: 'one' },
      { to: 'b' },
      { to: 'a', prompt: 'Look:' },
      { to: 'b', prompt: (previous, answers) => `${previous.length} ${answers.length}` },
    ],
  })()
  t.true(chained.success)
  t.deepEqual(
    chained.steps.map(({ to, prompt, envelope }) => [to, prompt, envelope.text]),
    [
      ['a', 'one', 'one a'],
      ['b', 'one a', 'one a b'],
      ['a', 'Look:\n\none a b', 'Look:\n\none a b a'],
      ['b', '16 3', '16 3 b'],
    ],
  )
  t.is(chained.text, '16 3 b')
  t.is(chained.failure, undefined)
})

test('it stops at the first failure, and the answers before that are not lost', async t => {
  const { site, world } = await openDesk(t, instances)
  const chained = await chainAt(site, { steps: [{ to: 'a', prompt: 'one' }, { to: 'broken' }, { to: 'b' }] })()
  t.false(chained.success)
  t.is(chained.text, '')
  t.is(chained.steps.length, 2)
  t.is(chained.steps[0]?.envelope.text, 'one a')
  t.is(chained.failure?.errorCode, 'engine_cli')
  t.is(await readFile(`${world.folder}/b.calls`, 'utf8').catch(() => 'none'), 'none')
})

test('a prompt that cannot be made fails its step', async t => {
  const { site } = await openDesk(t, instances)
  const chained = await chainAt(site, {
    steps: [
      { to: 'a', prompt: 'one' },
      {
        to: 'b',
        prompt: () => {
          throw new Error('no idea')
        },
      },
    ],
  })()
  t.like(chained.failure, { errorCode: 'invalid_request' })
  t.regex(chained.failure?.error ?? '', /The prompt of step 2 could not be made: Error: no idea/)
  t.is(chained.steps[0]?.envelope.text, 'one a')
})

for (const [title, prompt, why] of [
  ['throws what has no words', 'throw Object.create(null)', 'something without words was thrown'],
  ['returns nothing', '', 'its function must return a string'],
  ['returns a promise', 'return Promise.resolve("two")', 'its function must return a string'],
] as const) {
  test(`a prompt function that ${title} fails its link, and nothing else`, async t => {
    const { site } = await openDesk(t, { a: answers('a', 'return prompt + " a"') })
    const steps = [
      { to: 'a', prompt: 'one' },
      { to: 'a', prompt: new Function(prompt) as () => string },
    ]
    const chained = await chainAt(site, { steps })()
    t.like(chained.failure, { errorCode: 'invalid_request' })
    t.is(chained.failure?.error, `The prompt of step 2 could not be made: ${why}.`)
    t.is(chained.steps[0]?.envelope.text, 'one a')
  })
}
