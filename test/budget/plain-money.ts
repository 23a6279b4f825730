/** The same money kept in plain maps, by the words of the rules and without any of their code. */
export type Per = 'total' | 'day' | 'month'

export interface PlainLimit {
  readonly scope: string
  readonly per: Per
  readonly microUsd?: number
  readonly tokens?: number
  readonly turns?: number
}

export interface Sums {
  spentMicroUsd: number
  heldMicroUsd: number
  creditMicroUsd: number
  tokens: number
  heldTokens: number
  turns: number
  heldTurns: number
  unknownTurns: number
}

export interface PlainTurn {
  readonly turn: string
  readonly rows: readonly (readonly [scope: string, window: string])[]
  readonly limits: readonly PlainLimit[]
  readonly holdMicroUsd: number | undefined
  readonly holdTokens: number | undefined
  seenMicroUsd: number
  seenTokens: number
  /** Once it is settled. */
  charged?: {
    readonly microUsd: number
    readonly tokens: number
    readonly unknown: boolean
    readonly afterCorrection: number
  }
}

export interface PlainEnd {
  readonly microUsd: number
  readonly tokens: number
  readonly basis: 'reported' | 'priced' | 'none' | 'unknown'
  readonly success: boolean
}

export type PlainVerdict =
  | 'exhausted'
  | 'held'
  | { readonly microUsd: number | undefined; readonly tokens: number | undefined }

const dimensions = [
  ['microUsd', 'spentMicroUsd', 'heldMicroUsd'],
  ['tokens', 'tokens', 'heldTokens'],
  ['turns', 'turns', 'heldTurns'],
] as const

/** `dayOf` tells the date of a moment, as `2026-12-01`. */
export const plainMoney = (dayOf: (atMs: number) => string) => {
  const sums = new Map<string, Sums>()
  const resets = new Map<string, number>()
  let corrections = 0

  const windowOf = (per: Per, nowMs: number): string =>
    per === 'total' ? 'total' : dayOf(nowMs).slice(0, per === 'day' ? 10 : 7)

  const of = (scope: string, window: string): Sums => {
    const known = sums.get(`${scope} ${window}`) ?? {
      spentMicroUsd: 0,
      heldMicroUsd: 0,
      creditMicroUsd: 0,
      tokens: 0,
      heldTokens: 0,
      turns: 0,
      heldTurns: 0,
      unknownTurns: 0,
    }
    sums.set(`${scope} ${window}`, known)
    return known
  }

  const least = (...all: readonly (number | undefined)[]): number | undefined => {
    const told = all.filter(one => one !== undefined)
    return told.length === 0 ? undefined : Math.min(...told)
  }

  return {
    sums,
    windowOf,

    verdict: (
      limits: readonly PlainLimit[],
      caps: { microUsd?: number; tokens?: number },
      nowMs: number,
    ): PlainVerdict => {
      const lefts: Record<'microUsd' | 'tokens' | 'turns', number[]> = { microUsd: [], tokens: [], turns: [] }
      let out = false
      for (const limit of limits) {
        const now = of(limit.scope, windowOf(limit.per, nowMs))
        for (const [dimension, used, held] of dimensions) {
          const most = limit[dimension]
          if (most === undefined) continue
          const all = most + (dimension === 'microUsd' ? now.creditMicroUsd : 0)
          if (now[used] >= all) out = true
          lefts[dimension].push(all - now[used] - now[held])
        }
      }
      if (out) return 'exhausted'
      if (Object.values(lefts).some(some => some.some(left => left <= 0))) return 'held'
      return { microUsd: least(caps.microUsd, ...lefts.microUsd), tokens: least(caps.tokens, ...lefts.tokens) }
    },

    hold: ({ rows, holdMicroUsd, holdTokens }: PlainTurn): void => {
      for (const [scope, window] of rows) {
        const now = of(scope, window)
        now.heldMicroUsd += holdMicroUsd ?? 0
        now.heldTokens += holdTokens ?? 0
        now.heldTurns += 1
      }
    },

    settle: (turn: PlainTurn, { microUsd, tokens, basis, success }: PlainEnd): void => {
      const unknown = basis === 'unknown'
      const limited = (dimension: 'microUsd' | 'tokens') => turn.limits.some(limit => limit[dimension] !== undefined)
      const atHold = limited('microUsd') ? Math.max(turn.holdMicroUsd ?? 0, turn.seenMicroUsd, microUsd) : 0
      const told = !unknown || (success && tokens > 0)
      const charged = {
        microUsd: basis === 'none' ? 0 : unknown ? atHold : microUsd,
        tokens: told ? tokens : Math.max(limited('tokens') ? (turn.holdTokens ?? 0) : 0, turn.seenTokens, tokens),
        unknown,
        afterCorrection: corrections,
      }
      turn.charged = charged
      turn.seenMicroUsd = Math.max(turn.seenMicroUsd, microUsd)
      for (const [scope, window] of turn.rows) {
        const now = of(scope, window)
        now.heldMicroUsd -= turn.holdMicroUsd ?? 0
        now.heldTokens -= turn.holdTokens ?? 0
        now.heldTurns -= 1
        now.spentMicroUsd += charged.microUsd
        now.tokens += charged.tokens
        now.turns += 1
        now.unknownTurns += unknown ? 1 : 0
      }
    },

    add: (scope: string, per: Per, nowMs: number, microUsd: number): void => {
      corrections += 1
      of(scope, windowOf(per, nowMs)).creditMicroUsd += microUsd
    },

    reset: (scope: string, per: Per, nowMs: number): void => {
      corrections += 1
      const window = windowOf(per, nowMs)
      resets.set(`${scope} ${window}`, corrections)
      Object.assign(of(scope, window), { spentMicroUsd: 0, creditMicroUsd: 0, tokens: 0, turns: 0, unknownTurns: 0 })
    },

    /** What is given back; undefined where there is nothing to forgive. */
    forgive: (
      turn: PlainTurn,
      forgiven: boolean,
    ): { readonly microUsd: number; readonly tokens: number } | undefined => {
      const { charged } = turn
      if (charged === undefined || !charged.unknown || forgiven) return undefined
      const rows = turn.rows.filter(row => (resets.get(row.join(' ')) ?? 0) <= charged.afterCorrection)
      if (rows.length === 0) return undefined
      corrections += 1
      const back = {
        microUsd: Math.max(0, charged.microUsd - turn.seenMicroUsd),
        tokens: Math.max(0, charged.tokens - turn.seenTokens),
      }
      for (const [scope, window] of rows) {
        const now = of(scope, window)
        now.spentMicroUsd -= back.microUsd
        now.tokens -= back.tokens
        now.unknownTurns -= 1
      }
      return back
    },
  }
}
