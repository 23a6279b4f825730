import type { EngineEvent, Usage } from './event.ts'

/** Tokens in the one way in which the core counts them: the cache within the input, the reasoning within the output. */
export const wholeUsage = ({
  usage,
  cacheApart = false,
  reasoningApart = false,
}: Extract<EngineEvent, { kind: 'usage' }>): Usage => {
  if (!cacheApart && !reasoningApart) return usage
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return {
    ...usage,
    inputTokens: cacheApart ? inputTokens + cachedInputTokens + cacheWriteTokens : inputTokens,
    outputTokens: reasoningApart ? outputTokens + reasoningTokens : outputTokens,
  }
}

/** Of a whole usage: the other counts are parts of these two. */
export const tokensOf = (usage: Usage): number | 'unknown' =>
  countsOf(usage).every(isTokens) ? usage.inputTokens + usage.outputTokens : 'unknown'

/** Nothing but zeros: what some CLIs print when they were cut short, or asked nobody. */
export const saysNothing = (usage: Usage): boolean => countsOf(usage).every(count => count === 0)

const countsOf = (usage: Usage): readonly number[] => {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens]
}

const isTokens = (count: unknown): count is number => Number.isSafeInteger(count) && Number(count) >= 0
