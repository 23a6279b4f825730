import { oneLine } from '../protocol/failure.ts'
import { microUsdFrom, showSpent } from '../protocol/money.ts'
import type { ProgressEvent } from '../protocol/progress.ts'

/** What the events of a talk have told so far. */
export interface Known {
  readonly stage: 'sent' | 'accepted' | 'started'
  readonly turn?: string
  readonly tool?: string
  readonly usd: number
  /** The end of what it says at present. */
  readonly text: string
}

export const nothingKnown: Known = { stage: 'sent', usd: 0, text: '' }

const keptChars = 2000
const shownChars = 160

export const withEvent = (known: Known, event: ProgressEvent): Known => {
  switch (event.kind) {
    case 'accepted':
      return { ...nothingKnown, stage: 'accepted', turn: event.turn }
    case 'started':
      return { ...known, stage: 'started' }
    case 'tool':
      return { ...known, tool: event.name }
    case 'text':
      return { ...known, text: (event.delta ? known.text + event.text : event.text).slice(-keptChars) }
    case 'spend':
      return { ...known, usd: event.usd }
    default:
      return known
  }
}

/** `worker runs for 12 s (turn 3f9c…), used Bash, $0.0120 so far, says: "… and then"`: one line. */
export const sayKnown = (name: string, known: Known, forMs: number): string => {
  const stages = { sent: 'is asked', accepted: 'waits for its turn', started: 'works' }
  const said = oneLine(known.text)
  return [
    `${name} ${stages[known.stage]}, ${Math.round(forMs / 1000)} s${known.turn === undefined ? '' : ` (turn ${known.turn})`}`,
    ...(known.tool === undefined ? [] : [`last used ${oneLine(known.tool)}`]),
    ...spentSoFar(known.usd),
    ...(said === '' ? [] : [`says: ${said.length > shownChars ? `…${said.slice(-shownChars)}` : said}`]),
  ].join(', ')
}

const spentSoFar = (usd: number): readonly string[] => {
  const spent = microUsdFrom(usd)
  return spent === 'unknown' || spent === 0 ? [] : [`${showSpent(spent)} so far`]
}
