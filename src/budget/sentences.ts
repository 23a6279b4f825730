import { budgetExhausted, type Failure, failure, oneLine } from '../protocol/failure.ts'
import { showLimit, showSpent } from '../protocol/money.ts'
import { everyInstance, type Measure, rootOfScope } from './rules.ts'

export const retryBusyAfterMs = 1000

/** `Budget exhausted: $1.2000 used of $1.00. It is the budget of worker for 2026-12-01; …` */
export const exhausted = ({ scope, dimension, limit, used, held }: Measure): Failure => {
  const when = scope.budget.per === 'total' ? '' : ` for ${scope.window}`
  const besides = held > 0 ? `; ${amount(dimension, held)} more held by turns that run` : ''
  if (rootOfScope(scope.instance) !== undefined)
    return budgetExhausted(used, limit, `It is the budget of ${pieceOfWork} (${showLimit(limit)})${besides}.`)
  const more =
    dimension === 'microUsd' ? `errand budget add ${shellWord(scope.instance)} 2` : 'raise it in budgets.json'
  const whose = `It is the budget of ${nameOf(scope.instance)}${when}${besides}. For more: ${more}.`
  return dimension === 'microUsd'
    ? budgetExhausted(used, limit, whose)
    : failure('budget_exhausted', `Budget exhausted: ${amount(dimension, used)} used of ${limit}. ${whose}`)
}

/** `Budget of worker: $0.8500 used of $1.00 (day).` */
export const nearlyExhausted = ({ scope, dimension, limit, used }: Measure): string => {
  const of = dimension === 'microUsd' ? showLimit(limit) : limit
  return `Budget of ${nameOf(scope.instance)}: ${amount(dimension, used)} used of ${of} (${scope.budget.per}).`
}

export const tooManyTurns = (instance: string, turns: number, limit: number): Failure =>
  failure(
    'turns_exhausted',
    `Turns exhausted: ${turns} of ${limit} under one root. It is the maxTurnsPerRoot of ${instance}.`,
  )

/** A refusal by a limit of the file names that; the ledger does not know it. */
export const setIn =
  (file: string) =>
  (why: Failure): Failure =>
    (why.code === 'budget_exhausted' && !why.sentence.includes(pieceOfWork)) || why.code === 'turns_exhausted'
      ? { ...why, sentence: oneLine(`${why.sentence} It is set in ${file}.`) }
      : why

export const waitsForItself = (instance: string, money: Measure | undefined): Failure =>
  failure(
    'busy',
    money === undefined
      ? `${instance} is busy: every turn there waits for a talk of its own, so this one could wait without end.`
      : `The budget of ${nameOf(money.scope.instance)} is held by turns that wait for talks of their own, so this one could wait without end.${capHint(money)}`,
    retryBusyAfterMs,
  )

export const threadWaitsForItself = (instance: string, thread = ''): Failure =>
  failure(
    'busy',
    `Thread ${thread} of ${instance} is busy with a turn that waits for a talk of its own, so this one could wait without end.`,
    retryBusyAfterMs,
  )

const pieceOfWork = 'this piece of work'

// Without a cap a turn holds all that is left, and nothing is there for what it delegates.
const capHint = ({ scope, dimension }: Measure): string => {
  if (dimension === 'turns') return ''
  const one = rootOfScope(scope.instance) === undefined && scope.instance !== everyInstance
  return ` Give ${one ? 'it' : 'its instances'} a smaller ${dimension === 'tokens' ? 'maxTurnTokens' : 'maxTurnUsd'}.`
}

const shellWord = (instance: string): string => (instance === everyInstance ? `"${instance}"` : instance)

const nameOf = (scope: string): string => {
  if (rootOfScope(scope) !== undefined) return pieceOfWork
  return scope === everyInstance ? 'all instances' : scope
}

const amount = (dimension: Measure['dimension'], count: number): string =>
  dimension === 'microUsd' ? showSpent(count) : `${count} ${count === 1 ? singular[dimension] : dimension}`

const singular = { tokens: 'token', turns: 'turn' } as const
