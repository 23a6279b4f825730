import fs from 'node:fs'
import { CommanderError } from 'commander'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { tellBug } from './bug.ts'
import { type Chosen, program } from './program.ts'
import { ownTerminal, type Terminal } from './terminal.ts'

/** The command line: parses it, runs the one command that it names, and ends the process with its exit status. */
export const main = async (): Promise<void> => {
  const terminal = ownTerminal(process)
  const end = (status: number) => process.stdout.write('', () => process.stderr.write('', () => process.exit(status)))
  const onBug = (bug: unknown) => void tellBug(terminal, bug).then(end)
  process.on('uncaughtException', onBug)
  process.on('unhandledRejection', onBug)
  end(await run(terminal, process.argv.slice(2)).catch(bug => tellBug(terminal, bug)))
}

const run = async (terminal: Terminal, argv: readonly string[]): Promise<number> => {
  let chosen: Chosen = async () => 0
  try {
    program(terminal, version(), command => {
      chosen = command
    }).parse(argv, { from: 'user' })
  } catch (error) {
    // Help and version are no mistakes; commander has told whatever is one.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitStatus
    throw error
  }
  return chosen()
}

// src/cli/main.ts in a checkout, dist/src/cli/main.js when compiled.
const version = (): string => {
  const root = import.meta.url.endsWith('.ts') ? '../../' : '../../../'
  const { version } = JSON.parse(fs.readFileSync(new URL(`${root}package.json`, import.meta.url), 'utf8'))
  return String(version)
}
