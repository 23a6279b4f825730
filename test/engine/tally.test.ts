import test from 'ava'
import type { Cost } from '../../src/budget/budget.ts'
import { costOf, type Ending } from '../../src/engine/cost.ts'
import type { EngineEvent, Usage } from '../../src/engine/engine.ts'
import type { PriceOf } from '../../src/engine/settings.ts'
import { tallyOf } from '../../src/engine/tally.ts'
import { simplePrice } from './one-turn.ts'

type Scope = 'step' | 'turn' | 'session'

const usage = (scope: Scope, inputTokens: number, id?: string): EngineEvent => ({
  ...{ kind: 'usage', scope, usage: { inputTokens, outputTokens: 0 } },
  ...(id === undefined ? {} : { id }),
})
const cost = (scope: Scope, usd: unknown, id?: string): EngineEvent => ({
  ...{ kind: 'cost', scope, usd },
  ...(id === undefined ? {} : { id }),
})
const said: EngineEvent = { kind: 'text', text: 'x' }

const tallied = (events: readonly EngineEvent[], priceOf: PriceOf = simplePrice) => {
  const tally = tallyOf(priceOf)
  for (const event of events) tally.add(event)
  return tally
}

test('steps are added up, the last one of an id counts, and a wider scope outweighs them', t => {
  const rows: readonly [string, readonly EngineEvent[], number][] = [
    ['steps', [usage('step', 1), usage('step', 2)], 3],
    [
      'the same step told thrice',
      [usage('step', 1, 'a'), usage('step', 5, 'b'), usage('step', 4, 'a'), usage('step', 2, 'a')],
      7,
    ],
    ['turn over steps', [usage('step', 9), usage('turn', 5)], 5],
    ['session over turn', [usage('session', 7), usage('turn', 5), usage('step', 9)], 7],
    ['the last word of a scope', [usage('turn', 5), usage('turn', 6)], 6],
    ['zeros outweigh nothing', [usage('step', 9), usage('turn', 0)], 9],
  ]
  for (const [title, events, expected] of rows) {
    const { tokens, priced, seenMicroUsd } = tallied(events).spend()
    t.deepEqual({ tokens, priced, seenMicroUsd }, { tokens: expected, priced: expected, seenMicroUsd: expected }, title)
  }
})

test('a hundred thousand steps are added up as fast as they come', t => {
  const tally = tallyOf(simplePrice)
  for (let at = 0; at < 100_000; at++) {
    tally.add(usage('step', 1, `${at}`))
    tally.add({ kind: 'text', text: 'some words' })
    tally.spend()
  }
  t.is(tally.spend().tokens, 100_000)
  t.true(tally.seen().text.length <= 128 * 1024)
})

const byItself: Ending = { started: true, complete: true, success: true }
const failed: Ending = { ...byItself, success: false }
const cut: Ending = { started: true, complete: false, success: false }

const costs: readonly [string, readonly EngineEvent[], Ending, Cost][] = [
  ['dollars of the CLI', [usage('turn', 5), cost('turn', 0.5)], byItself, { microUsd: 500_000, basis: 'reported' }],
  ['dollars of steps', [cost('step', 0.1), cost('step', 0.2)], byItself, { microUsd: 300_000, basis: 'reported' }],
  ['tokens and a price', [usage('turn', 5)], byItself, { microUsd: 5, basis: 'priced' }],
  ['a success that tells nothing', [said], byItself, { microUsd: 0, basis: 'unknown' }],
  ['a success without a word', [], byItself, { microUsd: 0, basis: 'unknown' }],
  ['a failure without a sign of work', [], failed, { microUsd: 0, basis: 'none' }],
  ['a refusal that tells $0', [usage('turn', 0), cost('turn', 0)], failed, { microUsd: 0, basis: 'none' }],
  ['a failure after some work', [said], failed, { microUsd: 0, basis: 'unknown' }],
  ['a failure after priced work', [usage('step', 7)], failed, { microUsd: 7, basis: 'priced' }],
  ['a failure that tells its cost', [cost('session', 0.37)], failed, { microUsd: 370_000, basis: 'reported' }],
  ['cut after some steps', [usage('step', 7), usage('step', 1)], cut, { microUsd: 8, basis: 'unknown' }],
  ['cut before anything', [], cut, { microUsd: 0, basis: 'unknown' }],
  ['cut after dollars of steps', [cost('step', 0.1)], cut, { microUsd: 100_000, basis: 'unknown' }],
  ['never started', [], { started: false, complete: true, success: false }, { microUsd: 0, basis: 'none' }],
  [
    'a bad step among good ones',
    [cost('step', 0.1), cost('step', -1)],
    byItself,
    { microUsd: 100_000, basis: 'unknown' },
  ],
]

for (const [title, events, ending, expected] of costs) {
  test(`cost: ${title}`, t => {
    const tally = tallied(events)
    t.deepEqual(costOf(tally.spend(), { engine: jsonEngine }, ending), expected)
  })
}

const jsonEngine = {
  name: 'x',
  output: 'json' as const,
  command: () => ({ file: '', args: [], stdin: '' }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli' as const, sentence: '' }),
}

test('what is no number is unknown, and never counts', t => {
  for (const usd of [-1, Number.NaN, Number.POSITIVE_INFINITY, '0.4', true, 10_001, {}]) {
    const priced = tallied([usage('turn', 5), cost('turn', usd)]).spend()
    t.deepEqual(costOf(priced, { engine: jsonEngine }, byItself), { microUsd: 5, basis: 'priced' }, String(usd))
    const unpriced = tallied([usage('turn', 5), cost('turn', usd)], () => 'unknown').spend()
    t.deepEqual(costOf(unpriced, { engine: jsonEngine }, byItself), { microUsd: 0, basis: 'unknown' }, String(usd))
  }
  for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    const bad: Usage = { inputTokens: 5, outputTokens: wrong }
    const { tokens, priced, worked } = tallied([{ kind: 'usage', scope: 'turn', usage: bad }]).spend()
    t.deepEqual({ tokens, priced, worked }, { tokens: 0, priced: 'unknown', worked: true })
  }
  for (const price of [-1, Number.NaN, 0.5]) t.is(tallied([usage('turn', 5)], () => price).spend().priced, 'unknown')
})

test('a step is priced by its own model; the last model that was named is the one of the turn', t => {
  const models: (string | undefined)[] = []
  const tally = tallyOf((_, model) => {
    models.push(model)
    return 1
  }, 'of the instance')
  tally.add(usage('step', 1))
  tally.add({ kind: 'model', model: 'a' })
  tally.add(usage('step', 1))
  tally.add({ kind: 'usage', scope: 'step', usage: { inputTokens: 1, outputTokens: 1 }, model: 'b' })
  t.deepEqual(models, ['of the instance', 'a', 'b'])
  t.is(tally.seen().model, 'a')
})

test('the answer of a CLI without a final text is its last message, or the pieces of it', t => {
  const text = (words: string, delta?: boolean): EngineEvent => ({
    kind: 'text',
    text: words,
    ...(delta === undefined ? {} : { delta }),
  })
  const tool: EngineEvent = { kind: 'tool', name: 'Bash' }
  t.is(tallied([text('I shall look.'), tool, text('It is fine.')]).seen().lastText, 'It is fine.')
  t.is(tallied([text('first'), text('second')]).seen().lastText, 'second')
  t.is(tallied([text('It '), text('is ', true), text('fine.', true)]).seen().lastText, 'It is fine.')
  t.is(tallied([text('I shall look.'), tool]).seen().lastText, '')
  t.is(tallied([text('I shall look.'), tool, text('Fine.')]).seen().text, 'I shall look.\n\nFine.')
})
