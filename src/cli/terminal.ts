import { type Surroundings, surroundings } from '../config/surroundings.ts'
import { harmless } from './harmless.ts'

/** What the command line touches outside of itself; made once, by `main`. */
export interface Terminal {
  readonly where: Surroundings
  /** A person types here, so there is no piped input to read. */
  readonly typed: boolean
  /** A person watches stderr. */
  readonly watched: boolean
  /** A line may be drawn again and again. */
  readonly animated: boolean
  readonly stdin: AsyncIterable<Uint8Array>
  /** A line for programs and people. */
  readonly out: (line: string) => void
  /** The same for what an agent wrote: byte for byte, but where a person watches, nothing that would steer the terminal. */
  readonly outAnswer: (text: string) => void
  /** A line for people alone. */
  readonly say: (line: string) => void
  /** Raw, for a line that is drawn again. */
  readonly draw: (text: string) => void
  readonly dim: (text: string) => string
  /** Why something printed on stdout was lost, where it was: a full disk. */
  readonly lost: () => string | undefined
  /** Calls back for each Ctrl-C, SIGTERM or hang-up, until the returned function is called. */
  readonly onSignal: (heard: (signal: StopSignal) => void) => () => void
}

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** The options that every command has. */
export interface Common {
  readonly json?: boolean
  readonly config?: string
  readonly verbose?: boolean
}

/** 128 + the signal's number, as shells have it. */
export const statusOfSignal = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Record<StopSignal, number>

const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The terminal that this process really has. */
export const ownTerminal = (process: NodeJS.Process): Terminal => {
  const { stdin, stdout, stderr } = process
  const { NO_COLOR, TERM, CI } = process.env
  const watched = stderr.isTTY === true
  const plain = Boolean(NO_COLOR) || TERM === 'dumb'
  let printed = false
  let lost: string | undefined
  stdout.on('error', error => {
    if (printed && !isReaderGone(error)) lost ??= error.message
  })
  // Where stderr cannot be written, nothing can be said.
  stderr.on('error', () => {})
  const out = (line: string) => {
    printed = true
    stdout.write(`${line}\n`)
  }
  return {
    where: surroundings(),
    typed: stdin.isTTY === true,
    watched,
    animated: watched && !CI && TERM !== 'dumb',
    stdin,
    out,
    outAnswer: text => out((stdout.isTTY ? harmless(text) : text).replace(/\n$/, '')),
    say: line => stderr.write(`${line}\n`),
    draw: text => stderr.write(text),
    dim: text => (watched && !plain ? `\u001b[2m${text}\u001b[22m` : text),
    lost: () => lost,
    onSignal: heard => {
      for (const signal of stopSignals) process.on(signal, heard)
      return () => {
        for (const signal of stopSignals) process.off(signal, heard)
      }
    },
  }
}

// A reader that went away (`errand log | head`) and a terminal that was closed are no mistake: the rest is for nobody.
const isReaderGone = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'EIO'
