import { oneLine } from '../protocol/failure.ts'
import { microUsdFrom, showSpent } from '../protocol/money.ts'
import type { ProgressEvent } from '../protocol/progress.ts'
import { harmless } from './harmless.ts'
import type { Progress } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** Shows how a talk goes on. */
export interface Follow extends Progress {
  readonly tell: (event: ProgressEvent) => void
}

/** For programs: each event as a line of JSON on stdout, `event` its kind. */
export const followAsJson = (terminal: Terminal): Follow => ({
  tell: ({ kind, ...rest }) => terminal.out(JSON.stringify({ event: kind, ...rest })),
  while: say => say(),
  end: () => {},
})

/** For people, on stderr: stdout is for the answer alone. */
export const follow = (terminal: Terminal, name: string): Follow => {
  let atStart = true
  let spent = ''
  const line = (words: string): void => {
    if (!atStart) terminal.draw('\n')
    atStart = true
    if (words !== '') terminal.say(terminal.dim(oneLine(words)))
  }
  const say = (text: string): void => {
    const shown = harmless(text)
    if (shown === '') return
    terminal.draw(shown)
    atStart = shown.endsWith('\n')
  }
  const tell = (event: ProgressEvent): void => {
    if (event.kind === 'accepted') line(`${name} has it as turn ${event.turn}`)
    else if (event.kind === 'started') line(`${name} runs`)
    else if (event.kind === 'tool') line(`${name} uses ${event.name}${spent}`)
    else if (event.kind === 'retry') line(`${name} tries again${event.status ? ` after status ${event.status}` : ''}`)
    else if (event.kind === 'spend') spent = soFar(event.usd)
    else {
      if (!event.delta) line('')
      say(event.text)
    }
  }
  return {
    tell,
    while: other => {
      line('')
      other()
    },
    end: () => line(''),
  }
}

const soFar = (usd: number): string => {
  const spent = microUsdFrom(usd)
  return spent === 'unknown' || spent === 0 ? '' : ` (${showSpent(spent)} so far)`
}
