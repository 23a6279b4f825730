import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import type { Host } from '../bus/host.ts'
import { type Served, serve } from '../bus/server.ts'
import { ask } from '../client/ask.ts'
import type { Loaded } from '../config/load.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { decode } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { TakenOver } from './hosting.ts'
import { recover } from './recover.ts'
import type { Owner, Registered } from './registry.ts'
import type { State } from './state.ts'

/** Takes the place of hosts that live, which see that their names are no longer theirs, and let go. */
export interface Relief extends TakenOver {
  readonly giveBack: () => Promise<unknown>
  /** From now on it is seen to that they and we do not run more turns at once than an instance may. */
  readonly watch: (served: ReadonlyMap<string, Served>) => Relieved
}

/** Hosts whose place was taken, until they are gone. */
export interface Relieved {
  /** Whole sentences: what was taken from whom. */
  readonly told: readonly string[]
  /** Whole sentences about those that did not let go in time; it never rejects. */
  readonly late: Promise<readonly string[]>
  /** Looks how far they are. */
  readonly look: () => Promise<void>
}

/** How long the port of an instance may take to be given free: an earlier version ends its turns first, within 10 s. */
const portFreeMs = 13_000
const tryEveryMs = 10
const letGoMs = 5000
/** As long after its port is free, a former host still takes the talks of those that it had accepted. */
const lastTalksMs = 400
const lookEveryMs = 50

export const reliefOf = (
  state: State,
  { owner }: Owner,
  from: readonly Registered[],
  patienceMs: number = portFreeMs,
): Relief => ({
  serve: async (host, one) => {
    const former = from.find(({ name }) => name === one.instance.name)
    if (former === undefined) return serve(host, one.instance, one.priceOf)()
    const served = await serveWhenFree(host, one, former, patienceMs)
    // Until it is known what still runs there, nothing runs here; talks wait in line.
    if (E.isRight(served)) served.right.occupy(Number.POSITIVE_INFINITY)
    return served
  },
  giveBack: () => state.registry.giveBack(owner, from)(),
  watch: served => watchFormer(state, from, served),
})

const serveWhenFree = async (
  host: Host,
  { instance, priceOf }: Loaded,
  former: Registered,
  patienceMs: number,
): Promise<E.Either<Failure, Served>> => {
  const waitedMs = stopwatch()
  for (;;) {
    const tried = await serve(host, instance, priceOf)()
    if (E.isRight(tried) || instance.port === 0) return tried
    if (waitedMs() >= patienceMs) return E.left(notFree(former, instance.port, patienceMs))
    await pause(tryEveryMs)
  }
}

const notFree = ({ name, pid }: Registered, port: number, patienceMs: number): Failure =>
  failure(
    'instance_unavailable',
    `Process ${pid} has not given port ${port} of ${name} free within ${patienceMs / 1000} s, so it keeps it. ` +
      `If it is stuck, end it (kill -9 ${pid}) and try again: what it leaves open is settled then.`,
  )

const watchFormer = (state: State, from: readonly Registered[], served: ReadonlyMap<string, Served>): Relieved => {
  const left = new Map(from.map(former => [former.name, former]))
  const letGo = new Set<string>()
  const look = async (): Promise<void> => {
    if (left.size === 0) return
    const dead = await state.registry.deadOwners([...left.values()].map(({ owner }) => owner))()
    if (E.isLeft(dead)) return
    const gone = [...left.values()].filter(({ owner }) => dead.right.includes(owner))
    if (gone.length > 0 && E.isLeft(await recover(state)())) return
    for (const { name, owner } of left.values()) {
      const one = served.get(name)
      const over = gone.some(former => former.name === name)
      if (!over && !letGo.has(name)) continue
      const open = await state.ledger.openOf([owner], name, one?.instance.queueTimeoutMs ?? 0)()
      if (E.isLeft(open)) continue
      one?.occupy(open.right)
      if (over || open.right === 0) left.delete(name)
    }
  }
  const late = Promise.all(
    from.map(async former => {
      const listensAgain = served.get(former.name)?.url === former.url
      const inTime = listensAgain || (await letsGo(former))
      await pause(lastTalksMs)
      letGo.add(former.name)
      await look()
      return inTime ? [] : [former]
    }),
  )
  return {
    look,
    told: byProcess(from).map(
      ([pid, names]) => `${names} was taken over from process ${pid}, which answers what it still runs.`,
    ),
    late: late.then(ones =>
      byProcess(ones.flat()).map(
        ([pid, names]) =>
          `Process ${pid} has not let go of ${names} within ${letGoMs / 1000} s, so it may be stuck. ` +
          `Then end it: kill -9 ${pid}. What it leaves open is settled at once.`,
      ),
    ),
  }
}

/** Whether nobody reaches the former host at its address any more, or it says itself that it takes no talks. */
const letsGo = async (former: Registered): Promise<boolean> => {
  const waitedMs = stopwatch()
  for (;;) {
    if (await hasLetGo(former)) return true
    if (waitedMs() >= letGoMs) return false
    await pause(lookEveryMs)
  }
}

const health = t.type({ status: t.string, pid: t.number })

const hasLetGo = async ({ name, url, pid }: Registered): Promise<boolean> => {
  if (url === undefined) return true
  const question = { port: Number(new URL(url).port), path: '/api/health', timeoutMs: 1000, responseLimitBytes: 65_536 }
  return pipe(
    await ask(question, name)(),
    E.match(
      ({ sent }) => !sent,
      ({ body }) =>
        pipe(
          E.tryCatch(
            (): unknown => JSON.parse(body),
            () => undefined,
          ),
          E.chainW(json => decode(health, json)),
          // Another program has the port by now, or another process of ours.
          E.match(
            () => true,
            told => told.pid !== pid || told.status === 'stopping',
          ),
        ),
    ),
  )
}

const byProcess = (from: readonly Registered[]): readonly (readonly [pid: number, names: string])[] =>
  [...Map.groupBy(from, ({ pid }) => pid)].map(([pid, ones]) => [pid, ones.map(({ name }) => name).join(', ')])
