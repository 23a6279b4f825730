import { execa, type Options } from 'execa'
import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Failure } from '../protocol/failure.ts'
import type { Command } from './engine.ts'
import { environmentOf } from './environment.ts'
import { type Guarded, guarded } from './guarded.ts'
import { follow } from './live-turn.ts'
import { notStarted } from './not-started.ts'
import { namesOf } from './provider-keys.ts'
import { endedBy } from './reasons.ts'
import type { TurnReport } from './report.ts'
import type { RunRequest } from './run-request.ts'
import { openSpendReport } from './spend-report.ts'
import { taskOf } from './task.ts'
import { makeTurnFolder, removeTurnFolder } from './turn-folder.ts'

/**
 * Runs an engine's CLI for one talk, and ends all of it. It cannot fail: what became of the turn and what it cost are told
 * together. When it resolves, the process and its group are gone.
 */
export const run =
  (request: RunRequest): T.Task<TurnReport> =>
  async () => {
    const { settings, cancel, turnFolder } = request
    const engine = guarded(settings.engine)
    const command = engine.command(taskOf(request))
    if (E.isLeft(command)) return neverRan(command.left)
    if (cancel.aborted) return neverRan(endedBy(cancel))
    const folder = await makeTurnFolder(turnFolder, command.right.files)
    if (E.isLeft(folder)) return neverRan(folder.left)
    try {
      return await runCommand(request, engine, command.right)
    } finally {
      await removeTurnFolder(turnFolder)
    }
  }

const runCommand = async (request: RunRequest, engine: Guarded, command: Command): Promise<TurnReport> => {
  const { settings, turnEnvironment } = request
  // A provider's CLI tells its costs in its records; there, whatever it starts could write to the file.
  const tells = settings.engine.output === 'text'
  const spendReport = tells ? openSpendReport(turnEnvironment.ERRAND_REPORT) : undefined
  if (spendReport !== undefined && E.isLeft(spendReport)) return neverRan(spendReport.left)
  const report = spendReport?.right

  const environment = environmentOf({
    host: request.environment,
    engineNames: namesOf(settings.engine, settings.model),
    instanceNames: settings.env,
    command: command.env ?? {},
    turn: turnEnvironment,
    tells,
    binFolder: request.binFolder,
  })
  const startedAtMs = request.now()
  const child = start(command, settings.cwd, environment)
  const { pid } = child
  if (pid === undefined) {
    report?.close()
    return neverRan(await notStarted(command.file, settings, (await child).code))
  }
  child.stdin.on('error', () => undefined).end(command.stdin)
  return follow({ request, engine, environment, child, pid, startedAtMs, report })
}

// The only spawn. Its group is its own, so that all of it can be signalled, and execa ends it when this process ends.
const start = ({ file, args }: Command, cwd: string, env: Readonly<Record<string, string>>) =>
  execa(file, args, { ...how, cwd, env })

const how = {
  extendEnv: false,
  stdio: 'pipe',
  buffer: false,
  reject: false,
  killDescendants: true,
  forceKillAfterDelay: false,
} as const satisfies Options

const neverRan = (why: Failure): TurnReport => ({
  outcome: E.left(why),
  cost: { microUsd: 0, basis: 'none' },
  tokens: 0,
})
