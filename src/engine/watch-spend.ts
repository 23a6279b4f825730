import { budgetExhausted, type Failure, failure } from '../protocol/failure.ts'
import type { RunRequest } from './run-request.ts'
import type { Tally } from './tally.ts'

/**
 * To be called after each event: tells the host when the spend has grown, and `overspent` once it is past what is held. Of
 * several accounts of the same turn the largest counts.
 */
export const watchSpend = (
  { allowance, onSeen }: Pick<RunRequest, 'allowance' | 'onSeen'>,
  accounts: readonly Tally[],
  overspent: (why: Failure) => void,
): (() => void) => {
  const { microUsd: heldMicroUsd = Number.POSITIVE_INFINITY, tokens: heldTokens = Number.POSITIVE_INFINITY } = allowance
  let seenMicroUsd = 0
  let seenTokens = 0
  return () => {
    const spends = accounts.map(account => account.spend())
    const microUsd = Math.max(...spends.map(spend => spend.seenMicroUsd))
    const tokens = Math.max(...spends.map(spend => spend.tokens))
    if (microUsd <= seenMicroUsd && tokens <= seenTokens) return
    seenMicroUsd = Math.max(microUsd, seenMicroUsd)
    seenTokens = Math.max(tokens, seenTokens)
    onSeen(seenMicroUsd, seenTokens)
    if (seenMicroUsd > heldMicroUsd) overspent(budgetExhausted(seenMicroUsd, heldMicroUsd, ended))
    else if (seenTokens > heldTokens)
      overspent(failure('budget_exhausted', `Budget exhausted: ${seenTokens} tokens used of ${heldTokens}. ${ended}`))
  }
}

const ended = 'The turn was ended.'
