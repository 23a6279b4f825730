import type { MicroUsd } from '../protocol/money.ts'
import { microUsdFrom } from '../protocol/money.ts'
import type { EngineEvent, Usage } from './engine.ts'
import type { PriceOf } from './settings.ts'

/** What the records of a turn have said so far. The same events give the same tally; it has no other input. */
export interface Tally {
  readonly add: (event: EngineEvent) => void
  readonly seen: () => Seen
  readonly spend: () => Spend
}

export interface Seen {
  readonly session?: string
  readonly model?: string
  /** All that was said, as far as it is kept: the end of it. */
  readonly text: string
  /** The last thing said, unless a tool was called after it: the answer of a CLI whose final result has no text. */
  readonly lastText: string
  readonly denied: readonly string[]
  readonly retry?: Extract<EngineEvent, { kind: 'retry' }>
  /** The last one counts. */
  readonly result?: Extract<EngineEvent, { kind: 'result' }>
}

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
}

export const tallyOf = (priceOf: PriceOf, settingsModel?: string): Tally => {
  const denied: string[] = []
  const seen: { -readonly [K in keyof Seen]: Seen[K] } = { text: '', lastText: '', denied }
  const text = spoken()
  const usage = scopes()
  const cost = scopes()
  let worked = false

  const add = (event: EngineEvent): void => {
    switch (event.kind) {
      case 'session':
        seen.session = event.id
        break
      case 'model':
        seen.model = event.model
        break
      case 'text':
        worked ||= event.text !== ''
        text.add(event.text, event.delta === true)
        seen.lastText = event.delta === true ? seen.lastText + event.text : event.text
        break
      case 'tool':
        worked = true
        seen.lastText = ''
        break
      case 'denied':
        denied.push(event.what)
        break
      case 'retry':
        seen.retry = event
        break
      case 'result':
        seen.result = event
        break
      case 'cost':
        if (event.usd !== undefined && event.usd !== null)
          cost.add(event, { microUsd: microUsdFrom(event.usd), tokens: 0 })
        break
      case 'usage':
        usage.add(event, priceOfUsage(event.usage, event.model ?? seen.model ?? settingsModel))
        if (seen.model === undefined && event.model !== undefined) seen.model = event.model
        break
    }
  }

  const priceOfUsage = (said: Usage, model: string | undefined): Amount => {
    const tokens = tokensOf(said)
    if (tokens === 'unknown') return { microUsd: 'unknown', tokens: 0 }
    const price = tokens === 0 ? 0 : attempt(() => priceOf(said, model))
    return { microUsd: isMoney(price) ? price : 'unknown', tokens }
  }

  const spend = (): Spend => {
    const [told, work] = [cost.widest(), usage.widest()]
    const [reported, priced, tokens] = [told?.microUsd, work?.microUsd, work?.tokens ?? 0]
    const known = isMoney(reported) ? reported : priced
    return {
      reported,
      priced,
      seenMicroUsd: isMoney(known) ? known : Math.max(cost.knownSteps(), usage.knownSteps()),
      tokens,
      worked: worked || tokens > 0 || priced === 'unknown' || (reported ?? 0) !== 0,
    }
  }

  return { add, seen: () => ({ ...seen, text: text.all() }), spend }
}

interface Amount {
  readonly microUsd: MicroUsd | 'unknown'
  readonly tokens: number
}

interface Scoped {
  readonly scope: 'step' | 'turn' | 'session'
  readonly id?: string | undefined
}

// Steps are added up, the last one of an id counts; of the wider scopes the last word counts. A wider scope outweighs a
// narrower one, unless it says nothing at all: some CLIs print zeros when they are cut short.
const scopes = () => {
  const byId = new Map<string, Amount>()
  const steps = { any: false, microUsd: 0, tokens: 0, unpriced: 0 }
  const wide: { turn?: Amount; session?: Amount } = {}

  const count = ({ microUsd, tokens }: Amount, sign: 1 | -1): void => {
    if (microUsd === 'unknown') steps.unpriced += sign
    else steps.microUsd += sign * microUsd
    steps.tokens += sign * tokens
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
    steps.any = true
  }

  const widest = (): Amount | undefined => {
    const { session, turn } = wide
    if (session !== undefined && saysSomething(session)) return session
    if (turn !== undefined && saysSomething(turn)) return turn
    if (steps.any) return { microUsd: steps.unpriced > 0 ? 'unknown' : steps.microUsd, tokens: steps.tokens }
    return session ?? turn
  }

  return { add, widest, knownSteps: () => steps.microUsd }
}

// The price may be told by a user's own engine file; one that throws tells none.
const attempt = (price: () => MicroUsd | 'unknown'): MicroUsd | 'unknown' => {
  try {
    return price()
  } catch {
    return 'unknown'
  }
}

const saysSomething = ({ microUsd, tokens }: Amount): boolean => microUsd !== 0 || tokens !== 0

const isMoney = (amount: MicroUsd | 'unknown' | undefined): amount is MicroUsd =>
  typeof amount === 'number' && Number.isSafeInteger(amount) && amount >= 0

const isTokens = (count: unknown): count is number => Number.isSafeInteger(count) && Number(count) >= 0

// The other counts are parts of these two.
const tokensOf = (usage: Usage): number | 'unknown' => {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  const all = [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens]
  return all.every(isTokens) ? inputTokens + outputTokens : 'unknown'
}

// Messages in their order; those that are long past are let go.
const spoken = () => {
  const pieces: string[] = []
  let length = 0
  return {
    add: (words: string, continues: boolean): void => {
      const piece = pieces.length === 0 || continues ? words : `\n\n${words}`
      pieces.push(piece)
      length += piece.length
      if (length <= 2 * textLimit) return
      const all = pieces.splice(0).join('').slice(-textLimit)
      pieces.push(all)
      length = all.length
    },
    all: (): string => pieces.join('').slice(-textLimit),
  }
}

const textLimit = 64 * 1024
