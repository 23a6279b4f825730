import test from 'ava'
import type { Cost } from '../../src/budget/budget.ts'
import { accountOf, costOf, type Ending, wantsLog } from '../../src/engine/cost.ts'
import type { EngineEvent, Usage } from '../../src/engine/engine.ts'
import type { Resume } from '../../src/engine/run-request.ts'
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

const tallied = (events: readonly EngineEvent[], priceOf: PriceOf = simplePrice, resume?: Resume) => {
  const tally = tallyOf(priceOf, undefined, resume)
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

test('a price per turn is charged for each turn that started, however it ended', t => {
  const told = tallied([usage('turn', 5), cost('turn', 0.5)]).spend()
  const charged = (perTurn: number, ending: Ending, spend = told): Cost =>
    costOf(spend, { engine: jsonEngine, price: { perTurn } }, ending)
  for (const ending of [byItself, failed, cut]) {
    t.deepEqual(charged(0.25, ending), { microUsd: 250_000, basis: 'priced' })
    t.deepEqual(charged(Number.NaN, ending), { microUsd: 0, basis: 'unknown' })
  }
  t.deepEqual(charged(0.25, byItself, tallied([]).spend()), { microUsd: 250_000, basis: 'priced' })
  t.deepEqual(charged(0.25, { ...cut, started: false }), { microUsd: 0, basis: 'none' })
  const price = { inputPerMTok: 1, outputPerMTok: 1 }
  t.deepEqual(costOf(told, { engine: jsonEngine, price }, byItself), { microUsd: 500_000, basis: 'reported' })
})

test('a program that tells no work has done none: its success costs nothing', t => {
  const textEngine = { ...jsonEngine, output: 'text' as const }
  t.deepEqual(costOf(tallied([]).spend(), { engine: textEngine }, byItself), { microUsd: 0, basis: 'none' })
  t.deepEqual(costOf(tallied([usage('step', 7)]).spend(), { engine: textEngine }, byItself), {
    microUsd: 7,
    basis: 'priced',
  })
})

test('a success whose tokens are all of the cache costs what those cost, and nobody knows what if that is nothing', t => {
  const cached: EngineEvent = {
    kind: 'usage',
    scope: 'turn',
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 5 },
  }
  const costs = (microUsd: number): Cost =>
    costOf(tallied([cached], () => microUsd).spend(), { engine: jsonEngine }, byItself)
  t.deepEqual(costs(3), { microUsd: 3, basis: 'priced' })
  t.deepEqual(costs(0), { microUsd: 0, basis: 'unknown' })
})

const jsonEngine = {
  name: 'x',
  output: 'json' as const,
  command: () => ({ file: '', args: [], stdin: '' }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli' as const, sentence: '' }),
}

test('dollars that were not told are none, and take none back', t => {
  for (const usd of [undefined, null]) {
    t.is(tallied([usage('turn', 5), cost('turn', usd)]).spend().reported, undefined)
    t.is(tallied([cost('turn', 0.5), cost('turn', usd)]).spend().reported, 500_000)
  }
})

test('what costs nothing has a price; a price that throws is none', t => {
  t.is(tallied([usage('turn', 5)], () => 0).spend().priced, 0)
  const throws: PriceOf = () => {
    throw new Error('no price')
  }
  t.is(tallied([usage('turn', 5)], throws).spend().priced, 'unknown')
})

test('what is no number is unknown, and never counts', t => {
  for (const usd of [-1, Number.NaN, Number.POSITIVE_INFINITY, '0.4', true, 10_001, {}]) {
    const priced = tallied([usage('turn', 5), cost('turn', usd)]).spend()
    t.deepEqual(costOf(priced, { engine: jsonEngine }, byItself), { microUsd: 5, basis: 'priced' }, String(usd))
    const unpriced = tallied([usage('turn', 5), cost('turn', usd)], () => 'unknown').spend()
    t.deepEqual(costOf(unpriced, { engine: jsonEngine }, byItself), { microUsd: 0, basis: 'unknown' }, String(usd))
    const total = tallied([usage('turn', 5), cost('session', usd)]).spend()
    t.is(total.reported, 'unknown')
    t.deepEqual(costOf(total, { engine: jsonEngine }, byItself), { microUsd: 5, basis: 'priced' }, String(usd))
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
  t.is(
    tallied([{ kind: 'usage', scope: 'step', usage: { inputTokens: 1, outputTokens: 1 }, model: 'b' }]).seen().model,
    'b',
  )
})

test('a failure is undone by an answer, and by no end without a word', t => {
  const ends = (ok: boolean, words = ''): EngineEvent =>
    ok ? { kind: 'result', ok, text: words } : { kind: 'result', ok, error: words }
  const rows: readonly [string, readonly EngineEvent[], EngineEvent][] = [
    ['an end without a word', [ends(true)], ends(true)],
    ['after a failure', [ends(false, 'x'), ends(true)], ends(false, 'x')],
    ['after a failure, what was said before it is no answer', [said, ends(false, 'x'), ends(true)], ends(false, 'x')],
    ['something was said after the failure', [ends(false, 'x'), said, ends(true)], ends(true)],
    ['the answer comes with the end', [ends(false, 'x'), ends(true, 'good')], ends(true, 'good')],
    ['the answer came before', [ends(true, 'good'), ends(true)], ends(true)],
    ['the last failure counts', [ends(false, 'x'), ends(false, 'y')], ends(false, 'y')],
    ['a failure after an answer', [ends(true, 'good'), ends(false, 'x')], ends(false, 'x')],
  ]
  for (const [title, events, result] of rows) t.deepEqual(tallied(events).seen().result, result, title)
  t.is(tallied([said, ends(false, 'x')]).seen().lastText, '')
})

test('of all that was said the last 64 KiB are kept', t => {
  const messages = Array.from({ length: 3000 }, (_, at) => `message ${at} ${'x'.repeat(at % 100)}`)
  const all = messages.join('\n\n')
  const events = messages.map((text): EngineEvent => ({ kind: 'text', text }))
  t.true(all.length > 2 * 64 * 1024)
  t.is(tallied(events).seen().text, all.slice(-64 * 1024))
  const long = 'y'.repeat(200 * 1024)
  t.is(tallied([...events, { kind: 'text', text: `${long}end` }]).seen().text, `${long}end`.slice(-64 * 1024))
  t.deepEqual(tallied([]).seen(), { text: '', lastText: '', denied: [] })
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
  const pieces = tallied([text('It '), text('is ', true), text('fine.', true), text('Done.')]).seen()
  t.is(pieces.text, 'It is fine.\n\nDone.')
  t.is(tallied([text('It '), text('is ', true), text('fine.', true)]).seen().lastText, 'It is fine.')
  const part = (words: string, message: string): EngineEvent => ({ kind: 'text', text: words, message })
  t.is(tallied([part('one', 'a'), part('It is', 'b'), part('fine.', 'b')]).seen().lastText, 'It is\n\nfine.')
  t.is(tallied([part('one', 'a'), tool, part('two', 'a')]).seen().lastText, 'two')
  t.is(tallied([part('one', ''), part('two', '')]).seen().lastText, 'two')
  t.is(tallied([text('I shall look.'), tool]).seen().lastText, '')
  t.is(tallied([text('I shall look.'), tool, text('Fine.')]).seen().text, 'I shall look.\n\nFine.')
})

const counted = (usage: Usage, more: object = {}): EngineEvent => ({ kind: 'usage', scope: 'turn', usage, ...more })

test('what a CLI counts apart is added to what it is a part of', t => {
  const parts = { cachedInputTokens: 20, cacheWriteTokens: 3, reasoningTokens: 400 }
  const priced: Usage[] = []
  const tokensOf = (more: object): number =>
    tallied([counted({ inputTokens: 100, outputTokens: 1000, ...parts }, more)], usage => {
      priced.push(usage)
      return 1
    }).spend().tokens
  t.is(tokensOf({}), 1100)
  t.is(tokensOf({ cacheApart: true }), 1123)
  t.is(tokensOf({ reasoningApart: true }), 1500)
  t.is(tokensOf({ cacheApart: true, reasoningApart: true }), 1523)
  t.deepEqual(priced.at(-1), { inputTokens: 123, outputTokens: 1400, ...parts })
})

test('what is empty says nothing', t => {
  const tally = tallied([
    { kind: 'session', id: 's' },
    { kind: 'model', model: 'm' },
    { kind: 'text', text: 'hi' },
    usage('step', 5, 'a'),
  ])
  for (const event of [
    { kind: 'session', id: '' },
    { kind: 'model', model: '' },
    { kind: 'text', text: '' },
    usage('step', 0, 'a'),
    usage('session', 0),
  ] as const)
    tally.add(event)
  const { session, model, lastText } = tally.seen()
  t.deepEqual({ session, model, lastText }, { session: 's', model: 'm', lastText: 'hi' })
  t.is(tally.spend().tokens, 5)
  t.false(tallied([usage('turn', 0), { kind: 'text', text: '' }]).spend().worked)
  t.true(tallied([{ kind: 'tool', name: 'Bash' }]).spend().worked)
})

test('a request is pending until its usage is told, in each file for itself', t => {
  const tally = tallyOf(simplePrice)
  const asked: EngineEvent = { kind: 'asked' }
  const pending = (event: EngineEvent, source?: string): boolean => {
    tally.add(event, source)
    return tally.spend().pending
  }
  t.true(pending(asked))
  t.true(pending(usage('step', 0)))
  t.false(pending(usage('step', 1)))
  t.true(pending(asked, 'main'))
  t.true(pending(asked, 'helper'))
  t.true(pending(usage('step', 1), 'helper'))
  t.false(pending(usage('step', 1), 'main'))
})

// Twice as dear per token from 200 on, as long contexts are.
const tiered: PriceOf = ({ inputTokens }) => (inputTokens > 200 ? 2 : 1) * inputTokens

test('many requests are no long context: where the steps are told as well, each is priced by itself', t => {
  const steps = [usage('step', 150, 'a'), usage('step', 150, 'b')]
  t.is(tallied([usage('turn', 300)], tiered).spend().priced, 600)
  t.is(tallied([...steps, usage('turn', 300)], tiered).spend().priced, 300)
  t.is(tallied([...steps, usage('session', 300)], tiered).spend().priced, 300)
  t.is(
    tallied([...steps, usage('session', 700)], tiered, { session: 's', totalTokens: 400, totalMicroUsd: 9 }).spend()
      .priced,
    300,
  )
  t.is(tallied([...steps, usage('turn', 310)], tiered).spend().priced, 620, 'the steps are not all')
  const unpricedSteps: PriceOf = of => (of.inputTokens === 150 ? 'unknown' : tiered(of))
  t.is(tallied([...steps, usage('turn', 300)], unpricedSteps).spend().priced, 600, 'nobody knows what a step costs')
})

const resumed = (totalMicroUsd?: number, totalTokens?: number): Resume => ({
  session: 's',
  ...(totalMicroUsd === undefined ? {} : { totalMicroUsd }),
  ...(totalTokens === undefined ? {} : { totalTokens }),
})

const totals: readonly [string, readonly EngineEvent[], Resume, PriceOf, tokens: number, Cost][] = [
  [
    'a total that goes on',
    [usage('turn', 40), usage('session', 140), cost('session', 0.00014)],
    resumed(100, 100),
    simplePrice,
    40,
    { microUsd: 40, basis: 'reported' },
  ],
  [
    'a total that began anew',
    [usage('turn', 140), usage('session', 140), cost('session', 0.00014)],
    resumed(100, 100),
    simplePrice,
    140,
    { microUsd: 140, basis: 'reported' },
  ],
  [
    'a total that is smaller than before',
    [usage('session', 40), cost('session', 0.00004)],
    resumed(100, 100),
    simplePrice,
    40,
    { microUsd: 40, basis: 'reported' },
  ],
  [
    'no price: dollars go the way of the tokens',
    [usage('turn', 40), usage('session', 140), cost('session', 0.00014)],
    resumed(100, 100),
    () => 'unknown',
    40,
    { microUsd: 40, basis: 'reported' },
  ],
  [
    'no price, and the tokens began anew: so did the dollars',
    [usage('turn', 140), usage('session', 140), cost('session', 0.00014)],
    resumed(100, 100),
    () => 'unknown',
    140,
    { microUsd: 140, basis: 'reported' },
  ],
  [
    'the run has no price of its own, and its tokens began anew: so did the price of the total',
    [usage('turn', 139), usage('session', 140)],
    resumed(100, 100),
    ({ inputTokens }) => (inputTokens === 140 ? 140 : 'unknown'),
    140,
    { microUsd: 140, basis: 'priced' },
  ],
  [
    'a total that is no number is unknown, wherever it goes on from',
    [usage('turn', 40), usage('session', 140), cost('session', '?')],
    resumed(100, 100),
    () => 'unknown',
    40,
    { microUsd: 0, basis: 'unknown' },
  ],
  [
    'tokens of a session alone tell nothing of its dollars: the larger',
    [usage('session', 140), cost('session', 0.00014)],
    resumed(100, 100),
    simplePrice,
    40,
    { microUsd: 140, basis: 'reported' },
  ],
  [
    'what the run tells of its own dollars is what the total is compared with',
    [cost('turn', 0.00005), cost('session', 0.00014)],
    resumed(100, 100),
    simplePrice,
    0,
    { microUsd: 40, basis: 'reported' },
  ],
  [
    'a total of nothing outweighs no dollars of the run',
    [cost('session', 0), cost('turn', 0.00005)],
    resumed(100, 100),
    simplePrice,
    0,
    { microUsd: 50, basis: 'reported' },
  ],
  [
    'a total of nothing is one where nothing else was told',
    [usage('turn', 40), cost('session', 0)],
    resumed(0, 0),
    simplePrice,
    40,
    { microUsd: 0, basis: 'reported' },
  ],
  [
    'nobody knows what was before: the dollars that the run tells of itself, whatever its tokens would cost',
    [usage('turn', 40), cost('turn', 0.5), cost('session', 9)],
    resumed(),
    simplePrice,
    40,
    { microUsd: 500_000, basis: 'reported' },
  ],
  [
    'nothing to compare the dollars with: the larger',
    [cost('session', 0.00014)],
    resumed(100, 100),
    simplePrice,
    0,
    { microUsd: 140, basis: 'reported' },
  ],
  [
    'not a cent more than before',
    [cost('session', 0.0001)],
    resumed(100, 100),
    simplePrice,
    0,
    { microUsd: 0, basis: 'reported' },
  ],
  [
    'tokens of a session and nothing else',
    [usage('session', 140)],
    resumed(100, 100),
    simplePrice,
    40,
    { microUsd: 40, basis: 'priced' },
  ],
  [
    'nobody knows what was before: the run as it tells of itself',
    [usage('turn', 40), usage('session', 140), cost('session', 0.00014)],
    resumed(),
    simplePrice,
    40,
    { microUsd: 40, basis: 'priced' },
  ],
  [
    'nobody knows what was before, nor of this run',
    [usage('session', 140), cost('session', 0.00014)],
    resumed(),
    simplePrice,
    140,
    { microUsd: 140, basis: 'reported' },
  ],
]

for (const [title, events, resume, priceOf, tokens, expected] of totals) {
  test(`a resumed session: ${title}`, t => {
    const spend = tallied(events, priceOf, resume).spend()
    t.is(spend.tokens, tokens)
    t.deepEqual(costOf(spend, { engine: jsonEngine }, byItself), expected)
  })
}

test('what the session has come to is told as the CLI told it', t => {
  const { sessionTotal } = tallied(
    [usage('session', 140), cost('session', 0.00014)],
    simplePrice,
    resumed(100, 100),
  ).spend()
  t.deepEqual(sessionTotal, { microUsd: 140, tokens: 140 })
  t.deepEqual(tallied([usage('session', 140)]).spend().sessionTotal, { microUsd: 140, tokens: 140 })
  const unpriced = tallied([usage('session', 140)], () => 'unknown').spend()
  t.deepEqual(unpriced.sessionTotal, { tokens: 140 })
  t.is(unpriced.priced, 'unknown')
  t.deepEqual(tallied([cost('session', 0.00014)]).spend().sessionTotal, { microUsd: 140 })
  t.is(tallied([usage('turn', 140), cost('turn', 1)]).spend().sessionTotal, undefined)
})

test('of two accounts the one that tells more is taken, never both', t => {
  const spendOf = (...events: EngineEvent[]) => tallied(events).spend()
  const unpriced = (tokens: number) => tallied([usage('turn', tokens)], () => 'unknown').spend()
  const taken = (...accounts: Parameters<typeof accountOf>) => {
    const { spend, whole } = accountOf(...accounts)
    return [spend.tokens, spend.priced, whole]
  }
  const asked: EngineEvent = { kind: 'asked' }
  t.deepEqual(taken(spendOf(usage('turn', 9))), [9, 9, false])
  t.deepEqual(taken(spendOf(usage('turn', 9)), spendOf(usage('step', 9), usage('step', 1))), [10, 10, true])
  t.deepEqual(taken(spendOf(), spendOf(usage('step', 9), asked)), [9, 9, false], 'it was still asking')
  t.deepEqual(taken(spendOf(asked), spendOf(usage('step', 9))), [9, 9, false], 'the log lags behind')
  t.deepEqual(taken(spendOf(usage('turn', 9)), spendOf(usage('step', 8))), [9, 9, false], 'the log lacks some')
  t.deepEqual(taken(spendOf(usage('turn', 9)), spendOf()), [9, 9, false])
  t.deepEqual(taken(unpriced(9), spendOf(usage('step', 9))), [9, 9, true], 'the log knows the model')
  t.deepEqual(taken(spendOf(usage('turn', 9)), unpriced(12)), [9, 9, false], 'the log does not')
  const dollars = tallied([usage('turn', 9), cost('turn', 1)], () => 'unknown').spend()
  t.deepEqual(taken(dollars, unpriced(12)), [9, 'unknown', false], 'nor the dollars that the CLI told')
  t.deepEqual(taken(spendOf(), spendOf()), [0, undefined, false], 'it tells of no request')
  const total = { microUsd: 9, tokens: 9 }
  const log = spendOf(usage('step', 9), usage('step', 1))
  t.deepEqual(
    accountOf(spendOf(usage('session', 9)), log).spend,
    { ...log, sessionTotal: total },
    "the total is the CLI's",
  )
  t.deepEqual(accountOf(spendOf(), spendOf(usage('session', 9))).spend.sessionTotal, total)
  t.false('sessionTotal' in accountOf(spendOf(), log).spend)
})

test('a log is read for a turn that was cut, or whose dollars the CLI did not tell', t => {
  const complete = { complete: true }
  t.false(wantsLog(tallied([cost('turn', 1)]).spend(), complete))
  t.true(wantsLog(tallied([cost('turn', 1)]).spend(), { complete: false }))
  t.true(wantsLog(tallied([usage('turn', 1)]).spend(), complete))
  t.true(wantsLog(tallied([cost('turn', '?')]).spend(), complete))
})
