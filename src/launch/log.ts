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
/** What waits to be written at most; what comes while the disk takes nothing is lost then. */
const waitingBytes = 1024 * 1024

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
    maxLength: waitingBytes,
  })
  let state: 'opening' | 'open' | 'never opened' = 'opening'
  file.once('ready', () => {
    state = 'open'
  })
  file.on('error', () => {
    if (state === 'opening') state = 'never opened'
  })
  // Written to without a file, it throws.
  const lines = { write: (line: string) => void (state === 'never opened' || file.write(line)) }
  const logger = pino(
    {
      level: 'debug',
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretFacts, censor: '[redacted]' },
      formatters: { level: label => ({ level: label }) },
    },
    echo === undefined
      ? lines
      : pino.multistream([
          { level: 'debug', stream: lines },
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
        // It would wait for its file for ever.
        if (state === 'never opened') return resolve()
        file.once('close', resolve)
        file.once('error', resolve)
        file.end()
      }),
  }
}
