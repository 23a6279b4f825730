import { type MicroUsd, microUsdFrom } from '../protocol/money.ts'
import type { Usage } from './engine.ts'
import type { EngineSettings, Price, PriceOf } from './settings.ts'

/**
 * What the tokens of an instance cost: by its own `price`, else by its engine's, else by the list that we ship, where the
 * engine names its provider. The list is read here, since it is large, and never fetched anew.
 */
export const loadPricer = async (settings: Pick<EngineSettings, 'engine' | 'model' | 'price'>): Promise<PriceOf> => {
  const { engine, price } = settings
  if (price !== undefined) return usage => byOwnPrice(usage, price)
  const list = engine.price?.bind(engine) ?? (engine.provider === undefined ? nowhere : await listOf(engine.provider))
  return (usage, model = settings.model) => (isSound(usage) ? list(usage, model) : 'unknown')
}

const nowhere: PriceOf = () => 'unknown'

// A turn has its price whatever it used; the ledger counts it once.
const byOwnPrice = (usage: Usage, price: Price): MicroUsd | 'unknown' => {
  if ('perTurn' in price) return microUsdFrom(price.perTurn)
  if (!isSound(usage)) return 'unknown'
  const { inputPerMTok, outputPerMTok, cachedInputPerMTok = inputPerMTok, cacheWritePerMTok = inputPerMTok } = price
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage
  const fresh = inputTokens - cachedInputTokens - cacheWriteTokens
  const perMillion =
    fresh * inputPerMTok + cachedInputTokens * cachedInputPerMTok + cacheWriteTokens * cacheWritePerMTok
  return microUsdFrom((perMillion + outputTokens * outputPerMTok) / 1e6)
}

const listOf = async (provider: string): Promise<PriceOf> => {
  const { calcPrice } = await import('@pydantic/genai-prices')
  return (usage, model) => {
    if (model === undefined) return 'unknown'
    const counted = {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    }
    for (const { name, providerId } of entriesFor(model, provider)) {
      const found = calcPrice(counted, name, providerId === undefined ? {} : { providerId })
      if (found !== null) return microUsdFrom(found.total_price)
    }
    return 'unknown'
  }
}

/** Where the list may have a model. `openrouter/anthropic/claude-…` is first looked for as what that reseller takes for it. */
const entriesFor = (
  model: string,
  provider: string,
): readonly { readonly name: string; readonly providerId?: string }[] => {
  const name = nameInList(model)
  if (provider !== '*') return [{ name, providerId: provider }]
  const [, first, rest] = /^([^/]+)\/(.+)$/.exec(model) ?? []
  return first === undefined || rest === undefined ? [{ name }] : [{ name: rest, providerId: first }, { name }]
}

// `openai/gpt-5` and `us.anthropic.claude-…` name a way to the model, `[1m]` a window: the list knows the model alone.
const nameInList = (model: string): string =>
  model
    .replace(/^.*\//, '')
    .replace(/^(?:[a-z]{2,6}\.)?anthropic\./, '')
    .replace(/\[[^\]]*\]$/, '')

/** Integers, 0 or more, and no more from the cache than came in at all. */
const isSound = ({ inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 }: Usage): boolean =>
  [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens].every(n => Number.isSafeInteger(n) && n >= 0) &&
  cachedInputTokens + cacheWriteTokens <= inputTokens
