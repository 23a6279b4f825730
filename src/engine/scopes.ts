import type { MicroUsd } from '../protocol/money.ts'

/** What one event tells. */
export interface Amount {
  readonly microUsd: MicroUsd | 'unknown'
  readonly tokens: number
}

interface Scoped {
  readonly scope: 'step' | 'turn' | 'session'
  readonly id?: string | undefined
}

/** What was told so far, per scope; a scope that told nothing is missing. */
export interface Scopes {
  readonly add: (where: Scoped, amount: Amount) => void
  /** All steps together. */
  readonly steps: () => Amount | undefined
  /** Of this run: as a whole, where that was told, else its steps. */
  readonly ownRun: () => Amount | undefined
  readonly session: () => Amount | undefined
  /** The sum of the steps whose price is known. */
  readonly knownSteps: () => MicroUsd
}

/** Steps are added up, the last one of an id counts; of the wider scopes the last word counts. */
export const scopes = (): Scopes => {
  const byId = new Map<string, Amount>()
  const sum = { any: false, microUsd: 0, tokens: 0, unpriced: 0 }
  const wide: { turn?: Amount; session?: Amount } = {}

  const count = ({ microUsd, tokens }: Amount, sign: 1 | -1): void => {
    if (microUsd === 'unknown') sum.unpriced += sign
    else sum.microUsd += sign * microUsd
    sum.tokens += sign * tokens
  }

  const add = ({ scope, id }: Scoped, amount: Amount): void => {
    if (scope !== 'step') {
      wide[scope] = amount
      return
    }
    const earlier = id === undefined ? undefined : byId.get(id)
    if (earlier !== undefined) count(earlier, -1)
    if (id !== undefined) byId.set(id, amount)
    count(amount, 1)
    sum.any = true
  }

  const steps = (): Amount | undefined =>
    sum.any ? { microUsd: sum.unpriced > 0 ? 'unknown' : sum.microUsd, tokens: sum.tokens } : undefined

  return {
    add,
    steps,
    // Zeros outweigh nothing: some CLIs print them when they are cut short.
    ownRun: () => (wide.turn !== undefined && saysSomething(wide.turn) ? wide.turn : (steps() ?? wide.turn)),
    session: () => wide.session,
    knownSteps: () => sum.microUsd,
  }
}

/** Not nothing at all. */
export const saysSomething = ({ microUsd, tokens }: Amount): boolean => microUsd !== 0 || tokens !== 0
