import * as E from 'fp-ts/lib/Either.js'
import { addCredit } from '../budget/credits.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { failure } from '../protocol/failure.ts'
import { microUsdFrom } from '../protocol/money.ts'
import { budget, budgetOf, isBudgeted } from './budget.ts'
import { operatorOnly } from './operator-only.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Adds dollars to a budget, for its current window, and shows it. */
export const budgetAdd = async (terminal: Terminal, name: string, usd: string, options: Common): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand budget add`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  const microUsd = /^\$?\d{1,5}(\.\d{1,6})?$/.test(usd) ? microUsdFrom(Number(usd.replace('$', ''))) : 'unknown'
  if (microUsd === 'unknown' || microUsd === 0) {
    terminal.say(
      `errand: what is added must be dollars, such as 2 or 0.50, more than 0 and at most 10000; not "${usd}".`,
    )
    return usageExitStatus
  }
  const status = await withState(terminal, options, async ({ config, store, where }) => {
    if (!isBudgeted(config, name)) return refuse(terminal, [noSuchInstance(config, name)], options)
    const { budget: found } = budgetOf(config, name)
    if (found?.microUsd === undefined) {
      const sentence = `${name} has no limit in dollars, so there is nothing to add to. Give it a budget in ${config.file}.`
      return refuse(terminal, [failure('invalid_request', sentence)], options)
    }
    const note = 'errand budget add'
    const added = await addCredit(store, where.now(), { scope: name, microUsd, per: found.per, note })()
    return E.isLeft(added) ? refuse(terminal, [added.left], options) : 0
  })
  return status === 0 ? budget(terminal, name, options) : status
}
