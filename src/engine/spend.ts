import type { MicroUsd } from '../protocol/money.ts'
import type { Resume } from './run-request.ts'
import { partOfRun } from './running-total.ts'
import { type Amount, type Scopes, saysSomething } from './scopes.ts'

export interface Spend {
  /** Dollars as the CLI said them, in the widest scope that it used; `unknown` when that was no number. */
  readonly reported: MicroUsd | 'unknown' | undefined
  /** Tokens × a price list, in the widest scope; `unknown` where a part has no price or no number. */
  readonly priced: MicroUsd | 'unknown' | undefined
  /** The best that can be said while it runs. */
  readonly seenMicroUsd: MicroUsd
  readonly tokens: number
  /** A sign of model work: usage, something said, a tool, a cost. */
  readonly worked: boolean
  /** The model was asked, and what that used was not told yet. */
  readonly pending: boolean
  /** What the session has come to, where the CLI tells running totals. */
  readonly sessionTotal?: { readonly microUsd?: MicroUsd; readonly tokens?: number }
}

/** What was told of tokens and of dollars, and what else bears on it. */
export interface Told {
  readonly usage: Scopes
  readonly cost: Scopes
  readonly worked: boolean
  readonly pending: boolean
  readonly resume: Resume | undefined
}

export const spendOf = ({ usage, cost, worked, pending, resume }: Told): Spend => {
  const work = usedBy(usage, resume)
  const reported = reportedBy(cost, work, resume)
  const { priced, tokens } = work
  const known = isMoney(reported) ? reported : priced
  return {
    reported,
    priced,
    seenMicroUsd: isMoney(known) ? known : Math.max(cost.knownSteps(), usage.knownSteps()),
    tokens,
    worked: worked || tokens > 0 || priced === 'unknown' || (reported ?? 0) !== 0,
    pending,
    ...sessionTotalOf(usage.session(), cost.session()),
  }
}

interface Work {
  readonly priced: MicroUsd | 'unknown' | undefined
  readonly tokens: number
  /** What the run told of itself costs. */
  readonly ownPrice: MicroUsd | undefined
  /** The total of the session turned out to go on with that of the run before. */
  readonly goesOn: boolean
}

// Without anything to compare, tokens of a session are what their scope says: a total that goes on.
const usedBy = (usage: Scopes, resume: Resume | undefined): Work => {
  const [own, session, steps] = [usage.ownRun(), usage.session(), usage.steps()]
  const ownPrice = moneyOf(own?.microUsd)
  if (session === undefined || !saysSomething(session)) {
    return { priced: byRequest(own, steps), tokens: own?.tokens ?? 0, ownPrice, goesOn: false }
  }
  const tokens = partOfRun({
    ...{ total: session.tokens, last: lastOf(resume, 'totalTokens'), own: own?.tokens, goesOn: true },
  })
  const goesOn = own !== undefined && tokens < session.tokens
  const microUsd = isMoney(session.microUsd)
    ? partOfRun({
        total: session.microUsd,
        last: lastOf(resume, 'totalMicroUsd'),
        own: ownPrice,
        goesOn: own === undefined || goesOn,
      })
    : 'unknown'
  return { priced: byRequest({ microUsd, tokens }, steps), tokens, ownPrice, goesOn }
}

// A long context costs more per token, and only a request has a length: a sum of many is none.
const byRequest = (whole: Amount | undefined, steps: Amount | undefined): MicroUsd | 'unknown' | undefined =>
  steps !== undefined && steps.tokens === whole?.tokens && steps.microUsd !== 'unknown'
    ? steps.microUsd
    : whole?.microUsd

const reportedBy = (cost: Scopes, work: Work, resume: Resume | undefined): MicroUsd | 'unknown' | undefined => {
  const [own, session] = [cost.ownRun(), cost.session()]
  if (session === undefined || (!saysSomething(session) && own !== undefined)) return own?.microUsd
  if (session.microUsd === 'unknown') return 'unknown'
  const last = lastOf(resume, 'totalMicroUsd')
  if (last === 'unknown' && own === undefined && work.ownPrice !== undefined) return undefined
  return partOfRun({
    ...{ total: session.microUsd, last, own: moneyOf(own?.microUsd) ?? work.ownPrice, goesOn: work.goesOn },
  })
}

const lastOf = (resume: Resume | undefined, what: 'totalMicroUsd' | 'totalTokens'): number | 'unknown' =>
  resume === undefined ? 0 : (resume[what] ?? 'unknown')

const sessionTotalOf = (usage: Amount | undefined, cost: Amount | undefined): Pick<Spend, 'sessionTotal'> => {
  const microUsd = moneyOf(cost?.microUsd) ?? moneyOf(usage?.microUsd)
  const tokens = usage?.tokens
  if (microUsd === undefined && tokens === undefined) return {}
  return {
    sessionTotal: { ...(microUsd === undefined ? {} : { microUsd }), ...(tokens === undefined ? {} : { tokens }) },
  }
}

export const isMoney = (amount: MicroUsd | 'unknown' | undefined): amount is MicroUsd =>
  Number.isSafeInteger(amount) && Number(amount) >= 0

const moneyOf = (amount: MicroUsd | 'unknown' | undefined): MicroUsd | undefined =>
  isMoney(amount) ? amount : undefined
