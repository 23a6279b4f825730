import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { identify } from '../process/identity.ts'
import { signalGroup } from '../process/signal.ts'
import { type Ending, endingOf } from './ending.ts'
import type { Guarded } from './guarded.ts'
import { hear } from './hearing.ts'
import { judge } from './judge.ts'
import { tail } from './noise.ts'
import { sweepSoon } from './reap.ts'
import { endedBy, tooSlow } from './reasons.ts'
import type { TurnReport } from './report.ts'
import type { RunRequest } from './run-request.ts'
import type { SpendReport } from './spend-report.ts'
import { drained, type Exit, endOf, exitOf } from './streams.ts'
import { type Tally, tallyOf } from './tally.ts'
import { after } from './timer.ts'
import { watchSpend } from './watch-spend.ts'

/** A process that has just been started, and what it was started for. */
export interface Started {
  readonly request: RunRequest
  readonly engine: Guarded
  readonly environment: Readonly<Record<string, string>>
  readonly child: { readonly nodeChildProcess: EventEmitter; readonly stdout: Readable; readonly stderr: Readable }
  readonly pid: number
  readonly report: SpendReport | undefined
}

/** Listens to it until it has ended, or ends it; then judges. */
export const follow = async ({ request, engine, environment, child, pid, report }: Started): Promise<TurnReport> => {
  const { settings, turnEnvironment } = request
  const { stdout, stderr } = child
  const leader = identify(pid)
  const mark = turnEnvironment.ERRAND_TURN
  const exited = exitOf(child.nodeChildProcess)
  let exit: Exit | undefined
  const ending = endingOf({ leader, mark, exited }, () => exit !== undefined, request.onEnding)

  const tally = tallyOf(pricerOf(request), settings.model, request.resume)
  const lingering = after(lingerMs, () => ending.begin(settings.graceMs))
  const hearing = hear(settings, engine, tally, {
    heard: () => watch(),
    fault: () => ending.begin(settings.graceMs),
    result: () => {
      if (exit === undefined) lingering.start()
    },
    isLate: ending.signalled,
    busy: busy => void (busy && exit === undefined ? stdout.pause() : stdout.resume()),
  })
  const watch = watchSpend(request, tally, why => {
    if (!hearing.resultInTime())
      ending.begin(Math.min(settings.graceMs, overspentGraceMs), { reason: 'overspent', why })
  })
  const errors = tail()
  const ends = [endOf(stdout), endOf(stderr)]
  stdout.on('data', hearing.push)
  stderr.on('data', errors.add)
  report?.follow(events => {
    for (const event of events) tally.add(event)
    watch()
  })
  const letGo = watchClock(request, tally, ending)
  request.onStarted(leader)

  exit = await Promise.race([exited, ending.gaveUp])
  letGo()
  lingering.stop()
  stdout.resume()
  signalGroup(leader, 'SIGKILL')
  await drained(ends, drainMs)
  for (const stream of [stdout, stderr]) stream.destroy()
  await hearing.end()
  report?.close()
  if (ending.signalled()) await ending.done()
  else sweepSoon(mark)
  return judge({ request, engine, environment, exit, tally, hearing, stderr: errors.text(), ending })
}

// A CLI that lives on after its final result is not waited for.
const lingerMs = 5000
const drainMs = 2000
// With the second that the host may take, the tree is gone within two.
const overspentGraceMs = 700

// A turn with a price of its own costs that, however many tokens it takes.
const pricerOf = ({ settings: { price }, priceOf }: RunRequest): RunRequest['priceOf'] =>
  price !== undefined && 'perTurn' in price ? () => 0 : priceOf

/** Ends the turn when its time is up or when it is cancelled. */
const watchClock = ({ settings, cancel }: RunRequest, tally: Tally, ending: Ending): (() => void) => {
  const { graceMs, timeoutMs } = settings
  const clock = after(timeoutMs, () =>
    ending.begin(graceMs, { reason: 'timedOut', why: tooSlow(timeoutMs, tally.seen()) }),
  )
  const onAbort = (): void => ending.begin(graceMs, { reason: 'cancelled', why: endedBy(cancel) })
  clock.start()
  cancel.addEventListener('abort', onAbort, { once: true })
  return () => {
    clock.stop()
    cancel.removeEventListener('abort', onAbort)
  }
}
