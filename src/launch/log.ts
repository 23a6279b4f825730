import path from 'node:path'
import type { Log } from '../bus/host.ts'
import { atExit } from './at-exit.ts'

/** The log of a host: lines of JSON in the state folder. */
export interface OpenLog {
  readonly log: Log
  readonly close: () => Promise<void>
}

const fileSize = '2m'
const files = 4

// Whatever else may be said, these never are.
const secretFacts = [
  'secret',
  'token',
  'authorization',
  'prompt',
  'text',
  'answer',
  'partialText',
  'environment',
  'argv',
]

/**
 * Opens `log.N.log` there: files of 2 MB, the last few of them, for the user alone. A log that cannot be written loses its lines
 * and ends nothing. The libraries are loaded here, so that a talk that hosts nothing does not wait for them.
 */
export const openLog = async (stateFolder: string, echo?: NodeJS.WritableStream): Promise<OpenLog> => {
  const [{ pino }, { default: roll }] = await Promise.all([import('pino'), import('pino-roll')])
  const file = await roll({
    file: path.join(stateFolder, 'log'),
    extension: '.log',
    size: fileSize,
    limit: { count: files, removeOtherLogFiles: true },
    mode: 0o600,
    mkdir: false,
    sync: false,
  })
  file.on('error', () => undefined)
  const logger = pino(
    {
      level: 'debug',
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretFacts, censor: '[redacted]' },
      formatters: { level: label => ({ level: label }) },
    },
    echo === undefined
      ? file
      : pino.multistream([
          { level: 'debug', stream: file },
          { level: 'debug', stream: echo },
        ]),
  )
  const forget = atExit(() => {
    try {
      file.flushSync()
    } catch {
      // Its file never opened, or is gone: nothing to be done at the end.
    }
  })
  return {
    log: (event, facts = {}, level = 'info') => logger[level](facts, event),
    close: () =>
      new Promise(resolve => {
        forget()
        file.once('close', resolve)
        file.once('error', resolve)
        file.end()
      }),
  }
}
