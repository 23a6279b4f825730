import test from 'ava'
import type { Engine, Usage } from '../../src/engine/engine.ts'
import { loadPricer } from '../../src/engine/prices.ts'
import type { Price } from '../../src/engine/settings.ts'

const engine = (provider: string | undefined, price?: Engine['price']): Engine => ({
  name: 'any',
  output: 'json',
  command: () => ({ file: 'any', args: [], stdin: '' }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli', sentence: 'any' }),
  ...(provider === undefined ? {} : { provider }),
  ...(price === undefined ? {} : { price }),
})

const usage = (
  inputTokens: number,
  outputTokens: number,
  cachedInputTokens?: number,
  cacheWriteTokens?: number,
): Usage => ({
  inputTokens,
  outputTokens,
  ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
  ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
})

const listed: readonly (readonly [
  what: string,
  provider: string,
  model: string,
  usage: Usage,
  microUsd: number | 'unknown',
])[] = [
  ['what Claude Code itself says for it', 'anthropic', 'claude-sonnet-4-5', usage(1200, 34), 4110],
  ['a model with a date', 'anthropic', 'claude-sonnet-4-5-20250929', usage(1200, 34), 4110],
  ['a model at Vertex', 'anthropic', 'claude-sonnet-4-5@20250929', usage(1200, 34), 4110],
  ['a model at Bedrock', 'anthropic', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', usage(1200, 34), 4110],
  ['a model with a window', 'anthropic', 'claude-sonnet-4-5[1m]', usage(1200, 34), 4110],
  ['cache reads and writes are parts of the input', 'anthropic', 'claude-sonnet-4-5', usage(2000, 0, 500, 1000), 5400],
  ['a context that is not long yet', 'anthropic', 'claude-sonnet-4-5', usage(200_000, 1000), 615_000],
  ['a long context', 'anthropic', 'claude-sonnet-4-5', usage(300_000, 1000), 1_822_500],
  // 100,000 at 6, 100,000 read at 0.6, 50,000 written at 7.5, 1,000 said at 22.5.
  ['a long context with a cache', 'anthropic', 'claude-sonnet-4-5', usage(250_000, 1000, 100_000, 50_000), 1_057_500],
  ['a long context at Google, not yet', 'google', 'gemini-2.5-pro', usage(200_000, 1000), 260_000],
  ['a long context at Google', 'google', 'gemini-2.5-pro', usage(200_001, 1000), 515_003],
  ['a long context at Google with a cache', 'google', 'gemini-2.5-pro', usage(250_000, 1000, 100_000), 415_000],
  ['a long context at OpenAI, not yet', 'openai', 'gpt-5.4', usage(200_000, 1000), 515_000],
  ['a long context at OpenAI', 'openai', 'gpt-5.4', usage(300_000, 1000), 1_522_500],
  ['any provider: the name alone', '*', 'gpt-5', usage(1200, 34), 1840],
  ['any provider: named before the model', '*', 'anthropic/claude-sonnet-4-5', usage(1200, 34), 4110],
  ['any provider: a reseller', '*', 'openrouter/anthropic/claude-sonnet-4.5', usage(1200, 34), 4110],
  ['any provider: one that the list lacks', '*', 'mine/gemini-2.5-pro', usage(1200, 34), 1840],
  ['any provider: a folder of models', '*', 'models/gemini-2.5-pro', usage(1200, 34), 1840],
  ['any provider: a model with a date', '*', 'openai/gpt-5-2025-08-07', usage(1200, 34), 1840],
  ['any provider: nobody has it', '*', 'mock/mock-model', usage(1200, 34), 'unknown'],
  ['what the cache had costs less', 'openai', 'gpt-5', usage(1_000_000, 10_000, 900_000), 337_500],
  ['a model behind a router', 'openai', 'openai/gpt-5', usage(1200, 34), 1840],
  ['part of a micro-dollar is a whole one', 'openai', 'gpt-5', usage(1, 0), 2],
  ['nothing', 'openai', 'gpt-5', usage(0, 0), 0],
  ['a model that the list lacks', 'openai', 'no-such-model', usage(1200, 34), 'unknown'],
  ['more from the cache than came in', 'openai', 'gpt-5', usage(10, 1, 900), 'unknown'],
  ['a negative count', 'openai', 'gpt-5', usage(-5, 1), 'unknown'],
  ['no count', 'openai', 'gpt-5', usage(Number.NaN, 1), 'unknown'],
  ['a broken count', 'openai', 'gpt-5', usage(1.5, 1), 'unknown'],
]

for (const [what, provider, model, counted, microUsd] of listed) {
  test(`the list: ${what}`, async t => {
    const priceOf = await loadPricer({ engine: engine(provider) })
    t.is(priceOf(counted, model), microUsd)
  })
}

const perMillion = { inputPerMTok: 2, outputPerMTok: 10 }

const owned: readonly (readonly [what: string, price: Price, usage: Usage, microUsd: number | 'unknown'])[] = [
  ['input and output', perMillion, usage(1000, 100), 3000],
  ['the cache has its own', { ...perMillion, cachedInputPerMTok: 0.2 }, usage(1_000_000, 10_000, 900_000), 480_000],
  ['the cache has none: as input', perMillion, usage(1_000_000, 0, 900_000), 2_000_000],
  ['cache writes have their own', { ...perMillion, cacheWritePerMTok: 4 }, usage(1000, 0, 0, 500), 3000],
  ['a turn', { perTurn: 0.05 }, usage(0, 0), 50_000],
  ['a turn, whatever was counted', { perTurn: 0.05 }, usage(Number.NaN, 0), 50_000],
  ['no count', perMillion, usage(Number.NaN, 0), 'unknown'],
]

for (const [what, price, counted, microUsd] of owned) {
  test(`the instance's own price: ${what}`, async t => {
    const priceOf = await loadPricer({ engine: engine('openai', () => 1), price })
    t.is(priceOf(counted, 'gpt-5'), microUsd)
  })
}

test('an engine that prices by itself outweighs the list, and keeps its `this`', async t => {
  const own = {
    ...engine('openai'),
    each: 7,
    price(): number {
      return this.each
    },
  }
  t.is((await loadPricer({ engine: own }))(usage(1, 1), 'gpt-5'), 7)
})

test('a CLI that tells no model is priced by the model of its instance', async t => {
  const priceOf = await loadPricer({ engine: engine('openai'), model: 'gpt-5' })
  t.is(priceOf(usage(1200, 34)), 1840)
  t.is((await loadPricer({ engine: engine('openai') }))(usage(1200, 34)), 'unknown')
})

test('an engine without a provider is priced by no list', async t => {
  t.is((await loadPricer({ engine: engine(undefined) }))(usage(1200, 34), 'gpt-5'), 'unknown')
})

test.serial('the list is never fetched anew', async t => {
  const { fetch } = globalThis
  t.teardown(() => {
    globalThis.fetch = fetch
  })
  const asked: unknown[] = []
  globalThis.fetch = async (...what) => {
    asked.push(what)
    throw new Error('no network in here')
  }
  const priceOf = await loadPricer({ engine: engine('openai') })
  t.is(priceOf(usage(1200, 34), 'gpt-5'), 1840)
  t.is(priceOf(usage(1200, 34), 'no-such-model'), 'unknown')
  await new Promise(resolve => setImmediate(resolve))
  t.deepEqual(asked, [])
})
