import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Allowance } from '../budget/budget.ts'
import type { ThreadSession } from '../budget/threads.ts'
import type { TurnReport } from '../engine/report.ts'
import { run } from '../engine/run.ts'
import type { RunRequest } from '../engine/run-request.ts'
import { failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { Bus } from './bus.ts'
import { delegatingOf } from './delegating.ts'
import type { HeldTurn } from './hold.ts'
import { type Tell, type Telling, tellingTo } from './progress.ts'
import { onThread, type ThreadReport } from './thread.ts'

/** Runs the engine for a held turn, and keeps its row true while it runs. It cannot fail: the report says what happened. */
export const runTurn =
  (bus: Bus, turn: HeldTurn, tell?: Tell): T.Task<ThreadReport> =>
  async () => {
    const { host, instance } = bus
    const telling = tell && tellingTo(tell)
    host.log('started', { turn: turn.turn, instance: instance.name, from: turn.talk.from, depth: turn.talk.depth })
    try {
      return await onThread(turn, (resume, allowance) => run(requestOf(bus, turn, telling, resume, allowance))())
    } catch (error) {
      // A bug, but money is held: the turn is settled like any other, at its hold.
      host.log('bug', { turn: turn.turn, error: error instanceof Error ? error.stack : String(error) }, 'error')
      return broken
    } finally {
      telling?.end()
    }
  }

const broken: TurnReport = {
  outcome: E.left(failure('internal_error', 'Something went wrong inside the bus; its log says what.')),
  cost: { microUsd: 0, basis: 'unknown' },
  tokens: 0,
}

const requestOf = (
  bus: Bus,
  { turn, token, talk, ended }: HeldTurn,
  telling: Telling | undefined,
  resume: ThreadSession | undefined,
  allowance: Allowance,
): RunRequest => {
  const { host, instance } = bus
  const seen = noteSeen(bus, turn)
  return {
    ...delegatingOf(host, instance, talk.depth),
    prompt: talk.prompt,
    ...(resume === undefined ? {} : { resume }),
    allowance,
    priceOf: bus.priceOf,
    environment: host.environment,
    turnEnvironment: {
      ERRAND_TOKEN: token,
      ERRAND_TURN: turn,
      ERRAND_CONFIG: host.configFile,
      ERRAND_REPORT: join(host.reportFolder, `${turn}.jsonl`),
    },
    turnFolder: join(host.reportFolder, turn),
    binFolder: host.binFolder,
    cancel: ended,
    now: host.now,
    onStarted: process => {
      telling?.started()
      void note(bus, 'started', host.ledger.started(turn, process))
    },
    onSeen: (microUsd, tokens) => {
      telling?.spent(microUsd, tokens)
      seen(microUsd, tokens)
    },
    onEnding: () => note(bus, 'ending', host.ledger.ending(turn)),
    ...(telling === undefined ? {} : { onEvent: telling.event }),
    ...(instance.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: instance.idleTimeoutMs }),
  }
}

/** One write at a time, always of the newest: a CLI may report far oftener than a disk likes. */
const noteSeen = (bus: Bus, turn: string): ((microUsd: MicroUsd, tokens: number) => void) => {
  let newest: readonly [MicroUsd, number] | undefined
  let busy = false
  const write = async (): Promise<void> => {
    busy = true
    while (newest) {
      const [microUsd, tokens] = newest
      newest = undefined
      await note(bus, 'seen', bus.host.ledger.seen(turn, microUsd, tokens))
    }
    busy = false
  }
  return (microUsd, tokens) => {
    newest = [microUsd, tokens]
    if (!busy) void write()
  }
}

// What could not be noted on the way is not lost: the settle writes it all.
const note = async (
  { host }: Bus,
  what: string,
  noting: T.Task<E.Either<{ readonly sentence: string }, unknown>>,
): Promise<void> => {
  const noted = await noting()
  if (E.isLeft(noted)) host.log('note-failed', { what, reason: noted.left.sentence }, 'warn')
}
