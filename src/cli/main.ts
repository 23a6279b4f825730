import fs from 'node:fs'
import { type Command, CommanderError } from 'commander'
import { lostExitStatus, usageExitStatus } from '../protocol/error-codes.ts'
import { tellBug } from './bug.ts'
import type { Chosen } from './chosen.ts'
import { program } from './program.ts'
import { ownTerminal, type Terminal } from './terminal.ts'

/** The command line: parses it, runs the one command that it names, and ends the process with its exit status. */
export const main = async (): Promise<void> => {
  const terminal = ownTerminal(process)
  let chosen: Chosen = async () => 0
  const errand = program(terminal, version(), command => {
    chosen = command
  })
  const onBug = (bug: unknown) => void tellBug(terminal, bug, errand.opts()).then(status => end(terminal, status))
  process.on('uncaughtException', onBug)
  process.on('unhandledRejection', onBug)
  const wrong = parse(errand, process.argv.slice(2))
  end(terminal, wrong ?? (await chosen().catch(bug => tellBug(terminal, bug, errand.opts()))))
}

/** The exit status where there is nothing to run: help and version were printed, or the command line is wrong. */
const parse = (errand: Command, argv: readonly string[]): number | undefined => {
  try {
    if (argv.length === 0) errand.help()
    errand.parse(argv, { from: 'user' })
    return undefined
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitStatus
    throw error
  }
}

// What was written goes out before the process does; that it could not is heard a moment later.
const end = (terminal: Terminal, status: number): void => {
  process.stdout.write('', () => setImmediate(leave, terminal, status))
}

const leave = (terminal: Terminal, status: number): void => {
  const lost = terminal.lost()
  if (lost !== undefined) {
    terminal.say(
      `errand: What should stand on stdout could not be written (${lost}). \`errand log TURN --text\` repeats an answer.`,
    )
  }
  process.stderr.write('', () => process.exit(status === 0 && lost !== undefined ? lostExitStatus : status))
}

// src/cli/main.ts in a checkout, dist/src/cli/main.js when compiled.
const version = (): string => {
  const root = import.meta.url.endsWith('.ts') ? '../../' : '../../../'
  const { version } = JSON.parse(fs.readFileSync(new URL(`${root}package.json`, import.meta.url), 'utf8'))
  return String(version)
}
