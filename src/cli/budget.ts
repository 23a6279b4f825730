import * as E from 'fp-ts/lib/Either.js'
import { everyInstance } from '../budget/rules.ts'
import { type Budgeted, budgetStates } from '../budget/states.ts'
import type { Config } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { budgetHeadings, budgetJson, budgetRow } from './budget-words.ts'
import { refuse } from './refuse.ts'
import { table } from './table.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Shows budgets in their current windows. */
export const budget = (terminal: Terminal, name: string | undefined, options: Common): Promise<number> =>
  withState(terminal, options, async ({ config, store, where }) => {
    if (name !== undefined && !isBudgeted(config, name))
      return refuse(terminal, [noSuchInstance(config, name)], options)
    const states = await budgetStates(
      store,
      where.now(),
      name === undefined ? budgetsOf(config) : [budgetOf(config, name)],
    )()
    if (E.isLeft(states)) return refuse(terminal, [states.left], options)
    terminal.out(
      options.json ? JSON.stringify(states.right.map(budgetJson)) : table(budgetHeadings, states.right.map(budgetRow)),
    )
    return 0
  })

/** Every budget of the file: each instance's, then that of all together. */
const budgetsOf = (config: Config): readonly Budgeted[] => {
  const names = [...config.instances.keys(), ...(config.total === undefined ? [] : [everyInstance])]
  return names.map(name => budgetOf(config, name))
}

export const budgetOf = (config: Config, instance: string): Budgeted => {
  const found = instance === everyInstance ? config.total : config.instances.get(instance)?.limits.budget
  return found === undefined ? { instance } : { instance, budget: found }
}

export const isBudgeted = ({ instances }: Config, name: string): boolean =>
  name === everyInstance || instances.has(name)
