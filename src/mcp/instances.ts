import { basename } from 'node:path'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { BudgetState } from '../budget/ledger.ts'
import { everyInstance } from '../budget/rules.ts'
import { type Budgeted, budgetStates } from '../budget/states.ts'
import type { Askable } from '../bus/instance.ts'
import { askableBy } from '../config/reach.ts'
import type { Registered } from '../launch/registry.ts'
import { speakerOf } from '../launch/speaker.ts'
import type { State } from '../launch/state.ts'
import type { Failure } from '../protocol/failure.ts'
import { showLimit, showSpent } from '../protocol/money.ts'

/** Who speaks by this server, and whom it may ask at its depth. Left: the turn has ended. */
export interface Circle {
  readonly me: string
  readonly others: readonly Askable[]
}

export const circleOf = (state: State): TE.TaskEither<Failure, Circle> =>
  pipe(
    speakerOf(state, {}),
    TE.map(({ fromInstance, depth }) => ({
      me: fromInstance,
      others: askableBy(state.config, fromInstance).filter(({ maxDepth }) => depth < maxDepth),
    })),
  )

/** Those that may be asked, a line each: what for, whether they run, what is left of their budgets. */
export const sayInstances = (state: State): TE.TaskEither<Failure, string> =>
  pipe(
    circleOf(state),
    TE.bindTo('circle'),
    TE.bind('entries', () => state.registry.list()),
    TE.bind('budgets', ({ circle: { others } }) =>
      budgetStates(state.store, state.where.now(), [...others.map(({ name }) => budgetOf(state, name)), total(state)]),
    ),
    TE.map(({ circle: { me, others }, entries, budgets }) => {
      if (others.length === 0) return `There is nobody that ${me} may ask.`
      const lines = others.map((one, at) => line(state, one, entries, budgets[at]))
      const all = leftOf(budgets[others.length])
      return [...lines, ...(all === '' ? [] : [`all together: ${all}`])].join('\n')
    }),
  )

const line = (
  { config, inside }: State,
  { name, description }: Askable,
  entries: readonly Registered[],
  budget: BudgetState | undefined,
): string => {
  const engine = basename(config.instances.get(name)?.engine ?? '')
  const runs = entries.some(entry => entry.name === name && entry.life === 'alive' && entry.url !== undefined)
  const idle = inside === undefined ? 'does not run yet, is launched when asked' : 'does not run, cannot be asked now'
  const facts = [runs ? 'runs' : idle, leftOf(budget) || 'no limit of its own']
  return `${name} (${engine})${description === undefined ? '' : `: ${description}`} [${facts.join('; ')}]`
}

const budgetOf = ({ config }: State, instance: string): Budgeted => {
  const budget = config.instances.get(instance)?.limits.budget
  return { instance, ...(budget === undefined ? {} : { budget }) }
}

const total = ({ config: { total } }: State): Budgeted => ({
  instance: everyInstance,
  ...(total === undefined ? {} : { budget: total }),
})

/** `$0.7500 of $1.00 left (day)`; empty where there is no limit. */
const leftOf = (state: BudgetState | undefined): string => {
  if (state === undefined) return ''
  const { limitMicroUsd, spentMicroUsd, heldMicroUsd, limitTokens, tokens, limitTurns, turns, per } = state
  const said = [
    ...(limitMicroUsd === undefined
      ? []
      : [`${showSpent(Math.max(0, limitMicroUsd - spentMicroUsd - heldMicroUsd))} of ${showLimit(limitMicroUsd)}`]),
    ...(limitTokens === undefined ? [] : [`${Math.max(0, limitTokens - tokens)} of ${limitTokens} tokens`]),
    ...(limitTurns === undefined ? [] : [`${Math.max(0, limitTurns - turns)} of ${limitTurns} turns`]),
  ]
  return said.length === 0 ? '' : `${said.join(', ')} left${per === 'total' ? '' : ` (${per})`}`
}
