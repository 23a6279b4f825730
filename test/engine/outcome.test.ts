import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { type Evidence, outcomeOf } from '../../src/engine/outcome.ts'
import { failure } from '../../src/protocol/failure.ts'

const nothing: Evidence = {
  ours: {},
  output: 'json',
  exitCode: 0,
  denied: [],
  classify: () => failure('engine_cli', 'classified'),
}

// In the order in which they win; each is true together with all that stand below it.
const causes: readonly [string, Partial<Evidence>, string][] = [
  ['cancelled', { ours: { cancelled: failure('cancelled', 'cancelled') } }, 'cancelled'],
  ['overspent', { ours: { overspent: failure('budget_exhausted', 'overspent') } }, 'overspent'],
  ['stuck', { ours: { stuck: failure('auth', 'stuck') } }, 'stuck'],
  ['timed out', { ours: { timedOut: failure('timeout', 'timed out') } }, 'timed out'],
  ['could not start', { notStarted: failure('engine_cli', 'could not start') }, 'could not start'],
  ['the engine is at fault', { broken: failure('invalid_handler_response', 'broken') }, 'broken'],
  ['an error in the result', { result: { kind: 'result', ok: false, error: 'x' } }, 'classified'],
  ['a record too long', { tooLong: failure('engine_cli', 'too long') }, 'too long'],
  ['exit status', { exitCode: 1 }, 'classified'],
]

const sentenceOf = (evidence: Evidence): string => {
  const outcome = outcomeOf(evidence)
  return E.isLeft(outcome) ? outcome.left.sentence : `text: ${outcome.right.text}`
}

test('the earlier cause wins over every later one', t => {
  causes.forEach(([title, evidence, sentence], at) => {
    t.is(sentenceOf({ ...nothing, ...evidence }), sentence, title)
    for (const [other, later] of causes.slice(at + 1)) {
      const both = { ...nothing, ...later, ...evidence, ours: { ...later.ours, ...evidence.ours } }
      t.is(sentenceOf(both), sentence, `${title} over ${other}`)
    }
  })
})

test('a success on the stream outweighs the exit, and what the classifier would say', t => {
  const result = { kind: 'result', ok: true, text: 'fine' } as const
  t.is(sentenceOf({ ...nothing, result, exitCode: 1 }), 'text: fine')
  t.is(sentenceOf({ ...nothing, result, signal: 'SIGKILL' }), 'text: fine')
  t.is(sentenceOf({ ...nothing, result, tooLong: failure('engine_cli', 'too long') }), 'text: fine')
})

test('without a final result there is no answer, whatever was said', t => {
  t.is(sentenceOf({ ...nothing, said: 'half an answer' }), 'classified')
  t.is(sentenceOf({ ...nothing, output: 'text', said: 'whole' }), 'text: whole')
  t.is(sentenceOf({ ...nothing, output: 'text', said: 'half', signal: 'SIGKILL' }), 'classified')
  const { exitCode: _, ...noStatus } = nothing
  t.is(sentenceOf({ ...noStatus, output: 'text', said: 'half' }), 'classified')
})

test('an empty answer is no success; what was said last stands in for an empty result', t => {
  const result = { kind: 'result', ok: true, text: ' ' } as const
  t.is(sentenceOf({ ...nothing, result }), 'The CLI ended without an answer.')
  t.is(sentenceOf({ ...nothing, result, said: 'the last words' }), 'text: the last words')
  t.is(sentenceOf({ ...nothing, output: 'text', said: '\n' }), 'The CLI ended without an answer.')
})

test('a refused write fails, unless the instance may only read', t => {
  const evidence: Evidence = {
    ...nothing,
    result: { kind: 'result', ok: true, text: 'sorry' },
    denied: ['Write a', 'Write a', 'Bash b'],
  }
  const refused = outcomeOf(evidence)
  const says =
    'The CLI was not allowed to: Write a, Bash b. Give the instance "access": "write", or "read" if it need not write.'
  t.deepEqual(refused, E.left(failure('write_permission', says)))
  t.deepEqual(outcomeOf({ ...evidence, access: 'read' }), E.right({ text: 'sorry', denied: evidence.denied }))
})

test('an answer that lost a piece is none, unless the final result has the whole of it', t => {
  const torn: Evidence = { ...nothing, result: { kind: 'result', ok: true, text: '' }, said: 'hal', torn: true }
  t.deepEqual(outcomeOf(torn), E.left(failure('engine_cli', 'A record of the answer was damaged on its way.')))
  t.is(sentenceOf({ ...torn, result: { kind: 'result', ok: true, text: 'whole' } }), 'text: whole')
  t.is(sentenceOf({ ...torn, torn: false }), 'text: hal')
})

test("the failure of an empty answer is the CLI's", t => {
  const empty = outcomeOf({ ...nothing, result: { kind: 'result', ok: true, text: '' } })
  t.deepEqual(empty, E.left(failure('engine_cli', 'The CLI ended without an answer.')))
})
