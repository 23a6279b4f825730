import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { TurnReport } from '../engine/report.ts'
import { run } from '../engine/run.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { Bus } from './bus.ts'
import { endedBy, type HeldTurn } from './hold.ts'

/** Runs the engine for a held turn, and keeps its row true while it runs. It cannot fail: the report says what happened. */
export const runTurn =
  (bus: Bus, turn: HeldTurn): T.Task<TurnReport> =>
  async () => {
    const { host, instance } = bus
    const written = noteSeen(bus, turn.turn)
    host.log('started', { turn: turn.turn, instance: instance.name, from: turn.talk.from, depth: turn.talk.depth })
    const report = await run({
      settings: instance.settings,
      prompt: turn.talk.prompt,
      allowance: turn.allowance,
      priceOf: bus.priceOf,
      environment: host.environment,
      turnEnvironment: {
        ERRAND_TOKEN: turn.token,
        ERRAND_TURN: turn.turn,
        ERRAND_CONFIG: host.configFile,
        ERRAND_REPORT: join(host.reportFolder, `${turn.turn}.jsonl`),
      },
      binFolder: host.binFolder,
      cancel: sayWhy(turn.ended),
      onStarted: process => void warn(bus, 'started', host.ledger.started(turn.turn, process)),
      onSeen: written,
      onEnding: () => warn(bus, 'ending', host.ledger.ending(turn.turn)),
    })()
    return report
  }

/** `run` wants the sentence alone. */
const sayWhy = (ended: AbortSignal): AbortSignal => {
  const cancel = new AbortController()
  const abort = (): void => cancel.abort(endedBy(ended).sentence)
  if (ended.aborted) abort()
  ended.addEventListener('abort', abort, { once: true })
  return cancel.signal
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
      await warn(bus, 'seen', bus.host.ledger.seen(turn, microUsd, tokens))
    }
    busy = false
  }
  return (microUsd, tokens) => {
    newest = [microUsd, tokens]
    if (!busy) void write()
  }
}

// What could not be noted on the way is not lost: the settle writes it all.
const warn = async (
  { host }: Bus,
  what: string,
  note: T.Task<E.Either<{ sentence: string }, unknown>>,
): Promise<void> => {
  const noted = await note()
  if (E.isLeft(noted)) host.log('note-failed', { what, reason: noted.left.sentence }, 'warn')
}
