import * as E from 'fp-ts/lib/Either.js'
import { resetBudget } from '../budget/corrections.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { budget, budgetOf, isBudgeted } from './budget.ts'
import { operatorOnly } from './operator-only.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Begins the current window of a budget anew, and shows it. */
export const budgetReset = async (terminal: Terminal, name: string, options: Common): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand budget reset`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  const status = await withState(terminal, options, async ({ config, store, where }) => {
    if (!isBudgeted(config, name)) return refuse(terminal, [noSuchInstance(config, name)], options)
    const per = budgetOf(config, name).budget?.per ?? 'total'
    const reset = await resetBudget(store, where.now(), { scope: name, per })()
    return E.isLeft(reset) ? refuse(terminal, [reset.left], options) : 0
  })
  return status === 0 ? budget(terminal, name, options) : status
}
