import { isTurnCost, isTurnTokens, type MicroUsd, maxTurnMicroUsd, maxTurnTokens } from '../protocol/money.ts'
import type { Allowance, Basis, Budget, Cost, Limits } from './budget.ts'

/** The scope of all instances together. */
export const everyInstance = '*'

/** The scope of all turns under one root. No instance has a colon in its name. */
export const scopeOfRoot = (root: string): string => rootPrefix + root

/** The root whose scope it is; `undefined` for an instance, or all of them. */
export const rootOfScope = (scope: string): string | undefined =>
  scope.startsWith(rootPrefix) ? scope.slice(rootPrefix.length) : undefined

const rootPrefix = 'root:'

/** Sums of one scope in one window. */
export interface Balance {
  readonly spentMicroUsd: MicroUsd
  readonly heldMicroUsd: MicroUsd
  readonly creditMicroUsd: MicroUsd
  readonly tokens: number
  readonly heldTokens: number
  readonly turns: number
  readonly heldTurns: number
  readonly unknownTurns: number
}

/** A budget that bears on a turn, and how it stands. `instance` is `*` for all together, `root:ID` for a piece of work. */
export interface Scope {
  readonly instance: string
  readonly budget: Budget
  readonly window: string
  readonly balance: Balance
}

export type Dimension = 'microUsd' | 'tokens' | 'turns'

/** One limit of a budget, with its credits, and what is used and held of it. */
export interface Measure {
  readonly scope: Scope
  readonly dimension: Dimension
  readonly limit: number
  readonly used: number
  readonly held: number
}

/** May a turn begin? `held`: not before a turn that runs gives back what it does not use. */
export type Verdict =
  | { readonly kind: 'left'; readonly allowance: Allowance }
  | { readonly kind: 'held'; readonly scarce: readonly Measure[] }
  | { readonly kind: 'exhausted'; readonly by: Measure }

/** `spent + held < limit`, in every dimension of every scope; what is left is the most that the turn may hold. */
export const judge = (scopes: readonly Scope[], limits: Limits): Verdict => {
  const measures = scopes.flatMap(measuresOf)
  const by = measures.find(({ used, limit }) => used >= limit)
  if (by) return { kind: 'exhausted', by }
  const scarce = measures.filter(({ used, held, limit }) => used + held >= limit)
  if (scarce.length > 0) return { kind: 'held', scarce }
  const microUsd = least(limits.maxTurnMicroUsd, measures, 'microUsd')
  const tokens = least(limits.maxTurnTokens, measures, 'tokens')
  return {
    kind: 'left',
    allowance: { ...(microUsd === undefined ? {} : { microUsd }), ...(tokens === undefined ? {} : { tokens }) },
  }
}

/** The limits of one scope; a missing one is no limit, 0 is one. */
export const measuresOf = (scope: Scope): readonly Measure[] => {
  const { budget, balance } = scope
  const measures: Measure[] = []
  if (budget.microUsd !== undefined) {
    const limit = budget.microUsd + balance.creditMicroUsd
    measures.push({ scope, dimension: 'microUsd', limit, used: balance.spentMicroUsd, held: balance.heldMicroUsd })
  }
  if (budget.tokens !== undefined)
    measures.push({ scope, dimension: 'tokens', limit: budget.tokens, used: balance.tokens, held: balance.heldTokens })
  if (budget.turns !== undefined)
    measures.push({ scope, dimension: 'turns', limit: budget.turns, used: balance.turns, held: balance.heldTurns })
  return measures
}

/** The fullest limit, from 80 % on. */
export const fullest = (scopes: readonly Scope[]): Measure | undefined =>
  scopes
    .flatMap(measuresOf)
    .filter(({ used, limit }) => used * 10 >= limit * 8)
    .sort((one, other) => other.used / other.limit - one.used / one.limit)[0]

/** What is known of a turn that ended. */
export interface Spent {
  readonly limits: Limits
  readonly held: Allowance
  readonly cost: Cost
  readonly tokens: number
  readonly seenMicroUsd: MicroUsd
  readonly seenTokens: number
  readonly succeeded: boolean
}

export interface Charge {
  readonly microUsd: MicroUsd
  readonly basis: Basis
  readonly tokens: number
}

/** What a turn is charged in the end: its true cost, also past its hold; where nobody can tell it, its hold. */
export const chargeOf = (spent: Spent): Charge => {
  const { cost, limits, held, seenMicroUsd } = spent
  const basis = isTurnCost(cost.microUsd) ? cost.basis : 'unknown'
  const tokens = tokensOf(spent, basis)
  if (basis === 'none') return { microUsd: 0, basis, tokens }
  if (basis !== 'unknown') return { microUsd: cost.microUsd, basis, tokens }
  const limited = budgetsIn(limits).some(budget => budget.microUsd !== undefined)
  const seen = Math.max(seenMicroUsd, isTurnCost(cost.microUsd) ? cost.microUsd : 0)
  return { microUsd: limited ? Math.max(held.microUsd ?? 0, seen) : 0, basis, tokens }
}

const budgetsIn = ({ budget, total, root }: Limits): readonly Budget[] =>
  [budget, total, root].filter(one => one !== undefined)

// A turn that succeeded has told its tokens, even where its model has no price.
const tokensOf = ({ limits, held, tokens, seenTokens, succeeded }: Spent, basis: Basis): number => {
  const told = isTurnTokens(tokens) ? tokens : 0
  const known = told === tokens && (basis !== 'unknown' || (succeeded && told > 0))
  if (known) return told
  const limited = budgetsIn(limits).some(budget => budget.tokens !== undefined)
  return Math.max(limited ? (held.tokens ?? 0) : 0, told, seenTokens)
}

// No turn may hold more than it can be said to cost, whatever is left.
const most = { microUsd: maxTurnMicroUsd, tokens: maxTurnTokens } as const

const least = (
  cap: number | undefined,
  measures: readonly Measure[],
  dimension: keyof typeof most,
): number | undefined => {
  const lefts = measures
    .filter(measure => measure.dimension === dimension)
    .map(({ limit, used, held }) => limit - used - held)
  const all = cap === undefined ? lefts : [cap, ...lefts]
  return all.length === 0 ? undefined : Math.min(most[dimension], ...all)
}
