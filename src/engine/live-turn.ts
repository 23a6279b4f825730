import { identify } from '../process/identity.ts'
import { signalGroup } from '../process/signal.ts'
import type { Failure } from '../protocol/failure.ts'
import { endingOf } from './ending.ts'
import type { EngineEvent } from './engine.ts'
import { hear } from './hearing.ts'
import { judge, needsLog } from './judge.ts'
import { linesOf } from './lines.ts'
import { tail } from './noise.ts'
import type { Reason } from './outcome.ts'
import { sweepSoon } from './reap.ts'
import type { TurnReport } from './report.ts'
import type { RunRequest } from './run-request.ts'
import { sessionAccount } from './session-account.ts'
import type { Started } from './started.ts'
import { drained, type Exit, endOf, exitOf } from './streams.ts'
import { type Tally, tallyOf } from './tally.ts'
import { after } from './timer.ts'
import { watchClocks } from './watch-clocks.ts'
import { watchSpend } from './watch-spend.ts'

/** Listens to it until it has ended, or ends it; then judges. */
export const follow = async (started: Started): Promise<TurnReport> => {
  const { request, engine, environment, child, pid, report } = started
  const { settings, turnEnvironment } = request
  const { stdout, stderr } = child
  const leader = identify(pid)
  const mark = turnEnvironment.ERRAND_TURN
  const exited = exitOf(child.nodeChildProcess)
  let exit: Exit | undefined
  const ending = endingOf({ leader, mark, exited }, () => exit !== undefined, request.onEnding)
  const endFor = (reason: Reason, why: Failure, graceMs = settings.graceMs): void => {
    const isOurGuess = reason === 'overspent' || reason === 'stuck'
    if (!isOurGuess || !hearing.resultInTime()) ending.begin(graceMs, { reason, why })
  }

  const newTally = (): Tally => tallyOf(pricerOf(request), settings.model, request.resume)
  const [tally, logged] = [newTally(), newTally()]
  const watch = watchSpend(request, [tally, logged], why =>
    endFor('overspent', why, Math.min(settings.graceMs, overspentGraceMs)),
  )
  const clocks = watchClocks(request, engine, endFor)
  const count = (event: EngineEvent): void => {
    tally.add(event)
    tellHost(request, event)
    clocks.event(event)
  }
  const lingering = after(lingerMs, () => ending.begin(settings.graceMs))
  const hearing = hear(settings, engine, {
    event: count,
    heard: watch,
    record: clocks.record,
    noise: bytes => noise.push(bytes),
    fault: () => ending.begin(settings.graceMs),
    result: () => {
      if (exit === undefined) lingering.start()
    },
    isLate: ending.signalled,
    busy: busy => void (busy && exit === undefined ? stdout.pause() : stdout.resume()),
  })
  const noise = linesOf(clocks.line)
  const errorLines = linesOf(line => {
    hearing.errorLine(line)
    clocks.line(line)
  })
  const errors = tail()
  const ends = [endOf(stdout), endOf(stderr)]
  const answer = settings.engine.output === 'text' && request.onEvent ? new TextDecoder() : undefined
  stdout.on('data', (chunk: Uint8Array) => {
    hearing.push(chunk)
    if (answer) tellHost(request, { kind: 'text', text: answer.decode(chunk, { stream: true }), delta: true })
    clocks.printed(noise.begun())
  })
  stderr.on('data', (chunk: Uint8Array) => {
    errors.add(chunk)
    errorLines.push(chunk)
    clocks.printed(errorLines.begun())
  })
  report?.follow(events => {
    for (const event of events) count(event)
    watch()
  })
  const account = sessionAccount(started, () => tally.seen().session)
  // Some CLIs tell only there that they try in vain.
  const aside: Tally = {
    ...logged,
    add: (event, source) => {
      logged.add(event, source)
      clocks.event(event)
    },
  }
  const unfollow = account.follow(aside, watch)
  request.onStarted(leader)

  exit = await Promise.race([exited, ending.gaveUp])
  clocks.stop()
  unfollow()
  lingering.stop()
  stdout.resume()
  signalGroup(leader, 'SIGKILL')
  await drained(ends, drainMs)
  for (const stream of [stdout, stderr]) stream.destroy()
  await hearing.end()
  errorLines.end()
  report?.close()
  if (ending.signalled()) await ending.done()
  else sweepSoon(mark)
  const over = { request, engine, environment, exit, tally, hearing, stderr: errors.text(), ending }
  const whole = needsLog(over) ? await account.read(newTally()) : undefined
  return judge(whole === undefined ? over : { ...over, logged: whole })
}

// A CLI that lives on after its final result is not waited for.
const lingerMs = 5000
const drainMs = 2000
// With the second that the host may take, the tree is gone within two.
const overspentGraceMs = 700

// A turn with a price of its own costs that, however many tokens it takes.
const pricerOf = ({ settings: { price }, priceOf }: RunRequest): RunRequest['priceOf'] =>
  price !== undefined && 'perTurn' in price ? () => 0 : priceOf

// Whoever watches must not be able to break a turn.
const tellHost = ({ onEvent }: RunRequest, event: EngineEvent): void => {
  try {
    onEvent?.(event)
  } catch {}
}
