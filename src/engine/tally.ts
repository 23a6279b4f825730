import { type MicroUsd, microUsdFrom } from '../protocol/money.ts'
import type { EngineEvent, Usage } from './engine.ts'
import { hasStrayed, type Resume } from './run-request.ts'
import { type Amount, scopes } from './scopes.ts'
import type { PriceOf } from './settings.ts'
import { isMoney, type Spend, spendOf } from './spend.ts'
import { saysNothing, tokensOf, wholeUsage } from './usage.ts'

/** What the records of a turn have said so far. The same events give the same tally; it has no other input. */
export interface Tally {
  /** `source`: which of several files it stands in; each is answered for itself. */
  readonly add: (event: EngineEvent, source?: string) => void
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

/** `resume`: the session that the turn goes on with, whose totals are not charged again. */
export const tallyOf = (priceOf: PriceOf, settingsModel?: string, resume?: Resume): Tally => {
  const denied: string[] = []
  const seen: { -readonly [K in keyof Omit<Seen, 'text'>]: Seen[K] } = { lastText: '', denied }
  const text = spoken()
  const usage = scopes()
  const cost = scopes()
  const asked = new Set<string>()
  let worked = false
  let lastMessage: string | undefined

  /** What was said already of the same message. */
  const before = ({ delta, message }: Extract<EngineEvent, { kind: 'text' }>): string => {
    if (delta === true) return seen.lastText
    return seen.lastText !== '' && message && message === lastMessage ? `${seen.lastText}\n\n` : ''
  }

  const add = (event: EngineEvent, source = ''): void => {
    switch (event.kind) {
      case 'session':
        if (event.id !== '') seen.session = event.id
        break
      case 'model':
        if (event.model !== '') seen.model = event.model
        break
      case 'text':
        if (event.text === '') break
        worked = true
        text.add(event.text, event.delta === true)
        seen.lastText = `${before(event)}${event.text}`
        lastMessage = event.message
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
        // An end without a word does not undo the failure before it.
        if (event.ok && event.text === '' && seen.lastText === '' && seen.result?.ok === false) break
        if (!event.ok) seen.lastText = ''
        seen.result = event
        break
      case 'asked':
        asked.add(source)
        break
      case 'cost':
        if (event.usd !== undefined && event.usd !== null)
          cost.add(event, { microUsd: microUsdFrom(event.usd), tokens: 0 })
        break
      case 'usage':
        addUsage(event, wholeUsage(event), source)
        break
    }
  }

  const addUsage = (event: Extract<EngineEvent, { kind: 'usage' }>, told: Usage, source: string): void => {
    if (saysNothing(told)) return
    asked.delete(source)
    usage.add(event, priceOfUsage(told, event.model || seen.model || settingsModel))
    if (seen.model === undefined && event.model) seen.model = event.model
  }

  const priceOfUsage = (told: Usage, model: string | undefined): Amount => {
    const tokens = tokensOf(told)
    if (tokens === 'unknown') return { microUsd: 'unknown', tokens: 0 }
    const price = attempt(() => priceOf(told, model))
    return { microUsd: isMoney(price) ? price : 'unknown', tokens }
  }

  // The totals of another session say nothing of this one.
  const spend = (): Spend =>
    spendOf({
      ...{ usage, cost, worked, pending: asked.size > 0 },
      resume: hasStrayed(resume, seen.session) ? undefined : resume,
    })

  return { add, seen: () => ({ ...seen, text: text.all() }), spend }
}

// The price may be told by a user's own engine file; one that throws tells none.
const attempt = (price: () => MicroUsd | 'unknown'): MicroUsd | 'unknown' => {
  try {
    return price()
  } catch {
    return 'unknown'
  }
}

// Messages in their order; those that are long past are let go.
const spoken = () => {
  let text = ''
  return {
    add: (words: string, continues: boolean): void => {
      text += text === '' || continues ? words : `\n\n${words}`
      if (text.length > 2 * textLimit) text = text.slice(-textLimit)
    },
    all: (): string => text.slice(-textLimit),
  }
}

const textLimit = 64 * 1024
