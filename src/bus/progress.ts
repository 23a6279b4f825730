import type { EngineEvent } from '../engine/engine.ts'
import { oneLine } from '../protocol/failure.ts'
import { type MicroUsd, usdFrom } from '../protocol/money.ts'
import type { Progress } from '../protocol/progress.ts'

/** Hears how a talk goes on. It must not throw, and takes its time with nobody. */
export type Tell = (progress: Progress) => void

/** A turn's own part of its progress. */
export interface Telling {
  readonly started: () => void
  readonly event: (event: EngineEvent) => void
  readonly spent: (microUsd: MicroUsd, tokens: number) => void
  /** What is still held back is told; nothing after it. */
  readonly end: () => void
}

// A CLI may say every word, and every token's price, by itself; nobody reads faster than this.
const textEveryMs = 50
const spendEveryMs = 250
const longestText = 16 * 1024
const longestName = 200

/** Of all that an engine says, what is for a caller's eyes: in its order, not too often, in pieces of a bounded size. */
export const tellingTo = (tell: Tell): Telling => {
  let said: { text: string; delta: boolean } | undefined
  let textTimer: NodeJS.Timeout | undefined
  let spend: { readonly usd: number; readonly tokens: number } | undefined
  let spendTimer: NodeJS.Timeout | undefined
  let begun = false
  let over = false

  const tellText = (): void => {
    clearTimeout(textTimer)
    textTimer = undefined
    if (said === undefined) return
    const { text, delta } = said
    said = undefined
    for (let at = 0; at < text.length; ) {
      const piece = pieceOf(text, at)
      tell({ kind: 'text', text: piece, delta: delta || at > 0 })
      at += piece.length
    }
  }
  const addText = (text: string, delta: boolean): void => {
    if (text === '') return
    if (!delta) tellText()
    if (said === undefined) said = { text, delta }
    else said.text += text
    if (said.text.length >= longestText) tellText()
    else textTimer ??= setTimeout(tellText, textEveryMs)
  }
  const tellSpend = (): void => {
    spendTimer = undefined
    if (spend === undefined) return
    tellText()
    tell({ kind: 'spend', ...spend })
    spend = undefined
    spendTimer = setTimeout(tellSpend, spendEveryMs)
  }
  const tellNext = (progress: Progress): void => {
    tellText()
    tell(progress)
  }

  return {
    // A turn may take more than one process.
    started: () => {
      if (!begun) tellNext({ kind: 'started' })
      begun = true
    },
    event: event => {
      if (over) return
      if (event.kind === 'text') addText(event.text, event.delta === true)
      else if (event.kind === 'tool') tellNext({ kind: 'tool', name: oneLine(event.name).slice(0, longestName) })
      else if (event.kind === 'retry') tellNext(retryOf(event))
    },
    spent: (microUsd, tokens) => {
      if (over) return
      spend = { usd: usdFrom(microUsd), tokens }
      if (spendTimer === undefined) tellSpend()
    },
    end: () => {
      over = true
      tellText()
      clearTimeout(spendTimer)
    },
  }
}

// No character is cut in two.
const pieceOf = (text: string, at: number): string => {
  const piece = text.slice(at, at + longestText)
  return piece.length === longestText && /[\uD800-\uDBFF]$/.test(piece) ? piece.slice(0, -1) : piece
}

// The reason is a program's own words, and may hold anything.
const retryOf = ({ status, retryAfterMs }: Extract<EngineEvent, { kind: 'retry' }>): Progress => ({
  kind: 'retry',
  ...(isCount(status) ? { status } : {}),
  ...(isCount(retryAfterMs) ? { retryAfterMs } : {}),
})

const isCount = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 0
