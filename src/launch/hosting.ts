import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
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
  /** Claimed names begin to listen, all or none, and are published. */
  readonly add: (loaded: readonly Loaded[]) => TE.TaskEither<readonly Failure[], void>
  /** Withdraws, refuses new talks, lets turns end within `graceMs`, ends them, settles, gives the names free. */
  readonly end: (names: readonly string[], graceMs: number) => Promise<void>
  /** Ends all of them unless something runs or waits on one; a talk that comes in between is not refused. */
  readonly endIfIdle: () => Promise<boolean>
  /** After the last one: settles what is left and gives up the owner's row. */
  readonly leave: () => Promise<void>
}

const latecomersMs = 250

/** Node's longest timer. */
export const longestGraceMs = 2 ** 31 - 1

export const newOwner = (): Owner => ({ owner: randomBytes(8).toString('hex'), process: thisProcess() })

export const hostingOf = (state: State, owner: Owner, folders: Folders, opened: OpenLog): Hosting => {
  const { registry } = state
  const { log } = opened
  const served = new Map<string, Served>()
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
    add: loaded => async () => {
      const tried = await Promise.all(loaded.map(one => serve(host, one.instance, one.priceOf)()))
      const listening = tried.flatMap(one => (E.isRight(one) ? [one.right] : []))
      const urls = new Map(listening.map(one => [one.instance.name, one.url]))
      const failures = tried.flatMap(one => (E.isLeft(one) ? [one.left] : []))
      const published = failures.length > 0 ? E.left(failures[0]) : await registry.publish(owner.owner, urls)()
      if (E.isLeft(published)) {
        await Promise.all(listening.map(one => one.stop(0)))
        await registry.release(
          owner.owner,
          loaded.map(one => one.instance.name),
        )()
        return E.left(failures.length > 0 || published.left === undefined ? failures : [published.left])
      }
      for (const one of listening) {
        served.set(one.instance.name, one)
        log('listening', { instance: one.instance.name, url: one.url })
      }
      return E.right(undefined)
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
