import test from 'ava'
import { successEnvelope } from '../../src/protocol/envelope.ts'
import type { Store } from '../../src/store/store.ts'
import { digestOf, type Input } from '../../src/work/record.ts'
import { openWorkflow } from '../../src/work/records.ts'
import { left, opened, right, testFolder } from '../store/folder.ts'

const hourMs = 60 * 60 * 1000
const input: Input = {
  kind: 'chain',
  steps: [
    { to: 'a', digest: digestOf('x') },
    { to: 'b', digest: null },
  ],
}
const done = successEnvelope('done', { fromInstance: 'a', durationMs: 5 })

let made = 0
const openAt = (store: Store, nowMs: number, more: { input?: Input; fresh?: boolean; root?: string } = {}) => {
  made += 1
  return openWorkflow(store, () => nowMs, {
    name: 'nightly',
    input,
    fresh: false,
    root: undefined,
    newId: `id${made}`,
    ...more,
  })()
}

test('a step that was answered is kept, one that failed is asked under another attempt, one under way under the same', async t => {
  const store = await opened(t, testFolder(t))
  const first = right(await openAt(store, 0))
  t.deepEqual(right(await first.begin(0, 'a', 'd')()), { kind: 'ask', attempt: 1, resumed: false })
  right(await first.note(0, 1, done, true)())
  right(await first.begin(1, 'b', 'd')())
  right(await first.begin(2, 'b', 'd')())
  right(await first.note(2, 1, done, false)())
  const second = right(await openAt(store, 0, { root: 'other' }))
  t.deepEqual([second.id, second.root], [first.id, 'other'])
  t.deepEqual(right(await second.begin(0, 'a', 'd')()), { kind: 'answered', envelope: done })
  t.deepEqual(right(await second.begin(1, 'b', 'd')()), { kind: 'ask', attempt: 1, resumed: true })
  t.deepEqual(right(await second.begin(2, 'b', 'another')()), { kind: 'ask', attempt: 2, resumed: false })
  for (const step of [0, 1]) {
    const { code, sentence } = left(await second.begin(step, 'a', 'another')())
    t.is(code, 'workflow_state')
    t.regex(sentence, new RegExp(`step ${step + 1} asks something else than before\\. Begin it anew with --fresh`))
  }
})

for (const [title, other, what] of [
  ['kind', { ...input, kind: 'fan' }, 'it was begun as a chain, and this is a fan'],
  ['count', { ...input, steps: input.steps.slice(1) }, 'it was begun with 2 steps, and now has 1 step'],
  ['name', { ...input, steps: [input.steps[0], { to: 'c', digest: null }] }, 'step 2 was for b, and now is for c'],
  [
    'prompt',
    { ...input, steps: [{ to: 'a', digest: 'other' }, input.steps[1]] },
    'step 1 has another prompt than before',
  ],
] as const) {
  test(`a record of another ${title} is refused, and left as it is`, async t => {
    const store = await opened(t, testFolder(t))
    const first = right(await openAt(store, 0))
    const why = left(await openAt(store, 0, { input: other as Input }))
    t.is(why.code, 'workflow_state')
    t.true(
      why.sentence.includes(`Workflow "nightly" does not fit its record: ${what}. Begin it anew with --fresh`),
      why.sentence,
    )
    t.is(right(await openAt(store, 0)).id, first.id)
    t.not(right(await openAt(store, 0, { input: other as Input, fresh: true })).id, first.id)
  })
}

test('what ended is kept for a day, what did not for a week', async t => {
  const store = await opened(t, testFolder(t))
  const first = right(await openAt(store, 0))
  t.is(right(await openAt(store, 160 * hourMs)).id, first.id)
  const second = right(await openAt(store, 400 * hourMs))
  t.not(second.id, first.id)
  right(await second.end())
  t.is(right(await openAt(store, 423 * hourMs)).id, second.id)
  t.not(right(await openAt(store, 424 * hourMs)).id, second.id)
})

test('a damaged record says so, and can be begun anew', async t => {
  const store = await opened(t, testFolder(t))
  const first = right(await openAt(store, 0))
  right(await first.begin(0, 'a', 'd')())
  right(await first.note(0, 1, done, true)())
  for (const damage of ['{', '{"success":1}', '']) {
    right(await store.write(sql => sql.run('UPDATE workflowSteps SET envelope = ?', damage))())
    const { code, sentence } = left(await first.begin(0, 'a', 'd')())
    t.is(code, 'workflow_state')
    t.regex(sentence, /cannot be read \(the answer of step 1: .+\)\. Begin it anew with --fresh/)
  }
  for (const damage of ['{', 'null', '{"kind":"chain","steps":[{"to":1}]}']) {
    right(await store.write(sql => sql.run('UPDATE workflows SET input = ?', damage))())
    const { code, sentence } = left(await openAt(store, 0))
    t.is(code, 'workflow_state')
    t.regex(sentence, /has a record that cannot be read/)
  }
  const fresh = right(await openAt(store, 0, { fresh: true }))
  t.deepEqual(right(await fresh.begin(0, 'a', 'd')()), { kind: 'ask', attempt: 1, resumed: false })
})

test('a process that is late with an earlier attempt takes no answer away', async t => {
  const store = await opened(t, testFolder(t))
  const [one, other] = [right(await openAt(store, 0)), right(await openAt(store, 0))]
  right(await one.begin(0, 'a', 'd')())
  t.like(right(await other.begin(0, 'a', 'd')()), { attempt: 1, resumed: true })
  right(await one.note(0, 1, done, false)())
  t.like(right(await one.begin(0, 'a', 'd')()), { attempt: 2 })
  right(await other.note(0, 1, done, false)())
  right(await one.note(0, 2, done, true)())
  right(await other.note(0, 1, done, false)())
  t.deepEqual(right(await other.begin(0, 'a', 'd')()), { kind: 'answered', envelope: done })
})
