import { stopwatch } from '../process/stopwatch.ts'
import { showSpan } from './span.ts'
import type { Terminal } from './terminal.ts'

/** A line that is drawn again and again while something is waited for. */
export interface Progress {
  /** Says something else, and goes on below it. */
  readonly while: (say: () => void) => void
  readonly end: () => void
}

const redrawMs = 1000
const erase = '\r\u001b[K'

/** Says on stderr what is waited for, and how long already. */
export const progress = (terminal: Terminal, what: string): Progress => {
  if (!terminal.animated) return { while: say => say(), end: () => {} }
  const elapsedMs = stopwatch()
  const draw = () => {
    const seconds = Math.round(elapsedMs() / 1000)
    const span = seconds === 0 ? '' : ` ${showSpan(seconds * 1000).replace('.0', '')}`
    terminal.draw(erase + terminal.dim(`${what} …${span}`))
  }
  draw()
  const timer = setInterval(draw, redrawMs)
  return {
    while: say => {
      terminal.draw(erase)
      say()
      draw()
    },
    end: () => {
      clearInterval(timer)
      terminal.draw(erase)
    },
  }
}
