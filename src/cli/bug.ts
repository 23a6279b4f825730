import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { readConfig } from '../config/find.ts'
import { openLog } from '../launch/log.ts'
import { failure } from '../protocol/failure.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'

/** Tells a mistake of our own in a sentence; its stack goes to the log, or to a file where there is none. */
export const tellBug = async (terminal: Terminal, bug: unknown, options: Common): Promise<number> => {
  const stack = bug instanceof Error ? (bug.stack ?? bug.message) : String(bug)
  const written = await writeDown(terminal, stack, options).catch(() => undefined)
  const where = written === undefined ? '' : ` Its details are in ${written}; please report them.`
  const what = bug instanceof Error ? bug.message : String(bug)
  return refuse(terminal, [failure('internal_error', `This is a mistake in errand itself: ${what}.${where}`)], options)
}

const writeDown = async (terminal: Terminal, stack: string, options: Common): Promise<string> =>
  (await inLog(terminal, stack, options).catch(() => undefined)) ?? inFile(terminal, stack)

const inLog = async ({ where }: Terminal, stack: string, options: Common): Promise<string | undefined> => {
  const config = await readConfig(options.config, where)()
  if (E.isLeft(config) || !fs.existsSync(config.right.stateFolder)) return undefined
  const { log, close } = await openLog(config.right.stateFolder)
  log('bug', { stack }, 'error')
  await close()
  return `the log in ${config.right.stateFolder}`
}

const inFile = ({ where }: Terminal, stack: string): string => {
  const file = path.join(os.tmpdir(), `errand-bug-${where.pid}-${where.now()}.log`)
  fs.writeFileSync(file, `${stack}\n`, { flag: 'wx', mode: 0o600 })
  return file
}
