import { type FileHandle, open } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Guarded } from './guarded.ts'
import { logFilesOf } from './log-files.ts'
import { within } from './reap.ts'
import { type Records, readRecords } from './records.ts'
import type { LoggedRun } from './session-log.ts'
import type { Started } from './started.ts'
import type { Tally } from './tally.ts'

/** The log in which a CLI keeps its own account of a session, as long as a turn needs it. */
export interface SessionAccount {
  /** Reads it while the CLI runs, for those that tell only there what they have spent so far; gives the end of it. */
  readonly follow: (tally: Tally, told: () => void) => () => void
  /**
   * Reads it once the CLI is gone. Nothing where there is no log, or where it could not be read as a whole: half an account
   * is none. Never throws.
   */
  readonly read: (tally: Tally) => Promise<Tally | undefined>
}

/** `session`: the one that the CLI told of so far. */
export const sessionAccount = (
  { request, engine, environment, startedAtMs }: Omit<Started, 'child' | 'report' | 'pid'>,
  told: () => string | undefined,
): SessionAccount => {
  const { settings, turnFolder, resume } = request
  const { log, tellsUsd } = settings.engine
  if (log === undefined) return none
  const runNow = (): LoggedRun => {
    const session = told() ?? resume?.session
    const { cwd } = settings
    return { folder: turnFolder, cwd, environment, startedAtMs, ...(session === undefined ? {} : { session }) }
  }
  return {
    // Whoever tells dollars tells them as they are spent.
    follow: (tally, grown) => (tellsUsd === true ? () => undefined : follow(engine, runNow, tally, grown)),
    read: tally => readWhole(engine, runNow(), tally),
  }
}

const none: SessionAccount = { follow: () => () => undefined, read: async () => undefined }

type Reader = Pick<Guarded, 'logFiles' | 'decodeLog'>

const readWhole = async (engine: Reader, run: LoggedRun, tally: Tally): Promise<Tally | undefined> => {
  let isWhole = false
  let isLate = false
  const read = async (): Promise<void> => {
    const files = await pathsOf(engine, run)
    for (const path of files) {
      const log = openLog(path, engine, run, tally)
      while (!isLate && (await log.readOn()));
      if (!(await log.close())) return
    }
    isWhole = !isLate && files.length > 0
  }
  await within(
    read().catch(() => undefined),
    readMs,
  )
  isLate = true
  return isWhole ? tally : undefined
}

const follow = (engine: Reader, runNow: () => LoggedRun, tally: Tally, grown: () => void): (() => void) => {
  let logs: readonly Log[] = []
  let busy = false
  let stopped = false

  const find = async (): Promise<readonly Log[]> => {
    const run = runNow()
    const paths = await pathsOf(engine, run)
    // What is not written line by line is written anew each time, and can be read only once it is finished.
    return paths.filter(path => path.endsWith('.jsonl')).map(path => openLog(path, engine, run, tally))
  }

  const look = async (): Promise<void> => {
    busy = true
    if (logs.length === 0) logs = await find()
    for (const log of logs) for (let pass = 0; pass < passes && !stopped && (await log.readOn()); pass++);
    busy = false
    if (stopped) await close()
    else grown()
  }

  const close = async (): Promise<void> => {
    for (const log of logs) await log.close()
  }

  const poll = setInterval(() => {
    if (!busy) void look()
  }, pollMs).unref()
  return () => {
    clearInterval(poll)
    stopped = true
    if (!busy) void close()
  }
}

const pathsOf = async (engine: Reader, run: LoggedRun): Promise<readonly string[]> => {
  const patterns = engine.logFiles(run)
  return E.isLeft(patterns) ? [] : logFilesOf(patterns.right)
}

interface Log {
  /** Reads a piece; false when there is no more. */
  readonly readOn: () => Promise<boolean>
  /** False when it could not be read to its end. */
  readonly close: () => Promise<boolean>
}

const openLog = (path: string, engine: Reader, run: LoggedRun, tally: Tally): Log => {
  let isSound = true
  let file: FileHandle | undefined
  let position = 0
  const spoil = (): void => {
    isSound = false
  }
  const records: Records = readRecords(longestBytes, {
    record: json => {
      const events = engine.decodeLog(json, run)
      if (E.isLeft(events)) spoil()
      else for (const event of events.right) tally.add(event, path)
    },
    isLate: () => false,
    tooLong: spoil,
    busy: () => undefined,
  })

  return {
    readOn: async () => {
      if (!isSound) return false
      try {
        file ??= await open(path, 'r')
        const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(pieceBytes), position })
        position += bytesRead
        records.push(buffer.subarray(0, bytesRead))
        return bytesRead > 0
      } catch {
        spoil()
        return false
      }
    },
    close: async () => {
      await records.end().catch(spoil)
      await file?.close().catch(() => undefined)
      return isSound
    },
  }
}

const readMs = 2000
const pollMs = 1000
const passes = 16
const pieceBytes = 256 * 1024
const longestBytes = 64 * 1024 * 1024
