import * as E from 'fp-ts/lib/Either.js'
import { everyInstance } from '../budget/rules.ts'
import { budgetStates } from '../budget/states.ts'
import { askHealth } from '../client/health.ts'
import type { Registered } from '../launch/registry.ts'
import { budgetOf } from './budget.ts'
import { budgetJson, spentOf } from './budget-words.ts'
import { refuse, warn } from './refuse.ts'
import { table } from './table.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

const healthTimeoutMs = 1500
const headings = ['INSTANCE', 'ENGINE', 'URL', 'PID', 'RUNNING', 'QUEUED', 'BUDGET', 'STATE'] as const

/** Shows what runs. */
export const ps = (terminal: Terminal, options: Common): Promise<number> =>
  withState(terminal, options, async ({ config, registry, store, where }) => {
    const listed = await registry.list()()
    if (E.isLeft(listed)) return refuse(terminal, [listed.left], options)
    const claimed = listed.right.filter(({ life }) => life !== 'dead')
    const budgets = await budgetStates(
      store,
      where.now(),
      [...claimed.map(({ name }) => name), everyInstance].map(name => budgetOf(config, name)),
    )()
    if (E.isLeft(budgets)) return refuse(terminal, [budgets.left], options)
    const told = await Promise.all(claimed.map(askAfter))
    const rows = claimed.map((entry, at) => ({ entry, health: told[at], budget: budgets.right[at] }))
    warn(
      terminal,
      budgets.right.flatMap(({ warning }) => warning ?? []),
    )
    if (options.json) {
      const documents = rows.map(({ entry, health, budget }) => ({
        instance: entry.name,
        engine: entry.engine,
        url: entry.url ?? null,
        pid: entry.pid,
        running: health?.running ?? null,
        queued: health?.queued ?? null,
        budget: budget === undefined ? null : budgetJson(budget),
        state: stateOf(entry, health),
      }))
      terminal.out(JSON.stringify(documents))
      return 0
    }
    const cells = rows.map(({ entry, health, budget }) => [
      entry.name,
      entry.engine,
      entry.url ?? '-',
      String(entry.pid),
      String(health?.running ?? '-'),
      String(health?.queued ?? '-'),
      budget === undefined ? '-' : spentOf(budget),
      stateOf(entry, health),
    ])
    if (cells.length === 0) terminal.say('Nothing runs. `errand up` launches the instances of budgets.json.')
    else terminal.out(table(headings, cells))
    return 0
  })

type Health = Awaited<ReturnType<ReturnType<typeof askHealth>>>

const askAfter = async ({ name, url }: Registered): Promise<Health> =>
  url === undefined ? undefined : askHealth({ name, url }, healthTimeoutMs)()

const stateOf = ({ life, stopping, url }: Registered, health: Health): string => {
  if (life === 'elsewhere') return 'elsewhere'
  if (stopping) return 'stopping'
  if (url === undefined) return 'not listening'
  return health?.status ?? 'silent'
}
