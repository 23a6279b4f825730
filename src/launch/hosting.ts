import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import { cancelledBy } from '../bus/cancel.ts'
import type { Host, Log } from '../bus/host.ts'
import { type Served, serve } from '../bus/server.ts'
import type { Loaded } from '../config/load.ts'
import { sweepNow } from '../engine/reap.ts'
import { thisProcess } from '../process/identity.ts'
import type { Failure } from '../protocol/failure.ts'
import { onSuddenExit } from './last-resort.ts'
import type { OpenLog } from './log.ts'
import type { Folders } from './prepare-folder.ts'
import type { Owner } from './registry.ts'
import type { State } from './state.ts'

/** What this process hosts, as it changes: the one place that claims, serves, publishes and withdraws. */
export interface Hosting {
  readonly owner: Owner
  readonly served: ReadonlyMap<string, Served>
  readonly log: Log
  /**
   * Claimed names begin to listen, all or none, and are published. What was taken over is not released on a failure: whoever
   * took it gives it back.
   */
  readonly add: (loaded: readonly Loaded[], taken?: TakenOver) => TE.TaskEither<readonly Failure[], void>
  /** For another host that took these over: gives their ports free, and answers what has come. */
  readonly handOver: (names: readonly string[]) => Promise<void>
  /** Of `handOver`, under way or done. */
  readonly handedOver: ReadonlySet<string>
  /** Those that were handed over and still answer something. */
  readonly draining: ReadonlyMap<Served, Promise<void>>
  /** Ends turns of this process for whoever asked another one to, when the owner changed in the middle of them. */
  readonly endAsked: () => Promise<void>
  /** Withdraws, refuses new talks, lets turns end within `graceMs`, ends them, settles, gives the names free. */
  readonly end: (names: readonly string[], graceMs: number) => Promise<void>
  /** Ends all of them unless something runs or waits on one; a talk that comes in between is not refused. */
  readonly endIfIdle: () => Promise<boolean>
  /** After the last one: settles what is left and gives up the owner's row. */
  readonly leave: () => Promise<void>
}

/** What was taken over from others: how its ports are come by. */
export interface TakenOver {
  readonly serve: (host: Host, one: Loaded) => Promise<E.Either<Failure, Served>>
}

const serveNow: TakenOver['serve'] = (host, one) => serve(host, one.instance, one.priceOf)()

const latecomersMs = 250

/** Node's longest timer. */
export const longestGraceMs = 2 ** 31 - 1

export const newOwner = (): Owner => ({ owner: randomBytes(8).toString('hex'), process: thisProcess() })

export const hostingOf = (state: State, owner: Owner, folders: Folders, opened: OpenLog): Hosting => {
  const { registry } = state
  const { log } = opened
  const served = new Map<string, Served>()
  const handedOver = new Set<string>()
  const draining = new Map<Served, Promise<void>>()
  const host = hostOf(state, owner, folders, log)
  const calm = onSuddenExit(state.store, owner.owner)
  const end = async (names: readonly string[], graceMs: number, waitMs = latecomersMs) => {
    // Nobody shall find the socket that is about to close.
    await registry.withdraw(owner.owner, names)()
    await Promise.all(names.map(name => served.get(name)?.stop(graceMs, waitMs)))
    await registry.release(owner.owner, names)()
    for (const name of names) if (served.delete(name)) log('stopped', { instance: name })
  }
  return {
    owner,
    served,
    log,
    handedOver,
    draining,
    add: (loaded, taken) => async () => {
      const tried = await Promise.all(loaded.map(one => (taken?.serve ?? serveNow)(host, one)))
      const listening = tried.flatMap(one => (E.isRight(one) ? [one.right] : []))
      const urls = new Map(listening.map(one => [one.instance.name, one.url]))
      const failures = tried.flatMap(one => (E.isLeft(one) ? [one.left] : []))
      const published = failures.length > 0 ? E.left(failures[0]) : await registry.publish(owner.owner, urls)()
      if (E.isLeft(published)) {
        await Promise.all(listening.map(one => one.stop(0)))
        const names = loaded.map(one => one.instance.name)
        if (taken === undefined) await registry.release(owner.owner, names)()
        return E.left(failures.length > 0 || published.left === undefined ? failures : [published.left])
      }
      for (const one of listening) {
        served.set(one.instance.name, one)
        handedOver.delete(one.instance.name)
        log('listening', { instance: one.instance.name, url: one.url })
      }
      return E.right(undefined)
    },
    handOver: async names => {
      const ones = names.flatMap(name => served.get(name) ?? [])
      for (const one of ones) {
        served.delete(one.instance.name)
        handedOver.add(one.instance.name)
        draining.set(one, one.handOver(latecomersMs))
      }
      for (const one of ones) {
        await draining.get(one)
        draining.delete(one)
        log('handed over', { instance: one.instance.name })
      }
    },
    endAsked: async () => {
      const asked = await state.ledger.askedToEnd(owner.owner)()
      if (E.isLeft(asked)) return
      for (const { turn, by } of asked.right) host.live.get(turn)?.end(cancelledBy(by))
    },
    endIfIdle: async () => {
      if (isBusy(served)) return false
      const names = [...served.keys()]
      await registry.withdraw(owner.owner, names)()
      // Whoever had found the address before comes now: a socket that is closed under them could not tell that nothing ran.
      await pause(latecomersMs)
      if (isBusy(served) || served.size > names.length) {
        await registry.publish(owner.owner, new Map([...served].map(([name, { url }]) => [name, url])))()
        return false
      }
      await end(names, longestGraceMs, 0)
      return true
    },
    end: (names, graceMs) => end(names, graceMs),
    leave: async () => {
      await sweepNow()
      calm()
      const settled = await settleLeft(state, owner)
      // A row that stays tells the next start that something is still open here.
      if (settled) await registry.leave(owner.owner)()
      log('ended', { settled })
      await opened.close()
    },
  }
}

const settleLeft = async ({ ledger }: State, { owner }: Owner): Promise<boolean> => {
  const open = await ledger.abandoned([owner])()
  if (E.isLeft(open)) return false
  if (open.right.length === 0) return true
  return E.isRight(await ledger.settleAbandoned(open.right.map(({ turn }) => turn))())
}

const hostOf = (state: State, { owner }: Owner, { binFolder, reportFolder }: Folders, log: Log): Host => ({
  owner,
  ledger: state.ledger,
  secret: state.secret,
  ownerLives: async other => {
    if (other === owner) return true
    const lives = await state.registry.ownerLives(other)()
    return E.isRight(lives) && lives.right
  },
  environment: state.where.environment,
  configFile: state.config.file,
  binFolder,
  reportFolder,
  keyedPatienceMs: 30_000,
  bodyLimitBytes: state.config.bodyLimitBytes,
  live: new Map(),
  unsettled: new Set(),
  now: state.where.now,
  log,
})

const isBusy = (served: ReadonlyMap<string, Served>): boolean =>
  [...served.values()].some(({ activity }) => activity().running + activity().queued > 0)
