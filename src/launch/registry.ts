import type * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import { lifeOf } from '../process/identity.ts'
import type { ProcessId } from '../process/process-id.ts'
import type { Failure } from '../protocol/failure.ts'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Store } from '../store/store.ts'

/** An instance that some process of this state folder has claimed. */
export interface Registered {
  readonly name: string
  readonly engine: string
  readonly owner: string
  readonly pid: number
  /** `undefined`: claimed, does not listen yet (or any more). */
  readonly url: string | undefined
  /** `elsewhere`: its process lives in another pid namespace, where nobody here can judge. */
  readonly life: 'alive' | 'dead' | 'elsewhere'
  /** A person asked it to stop. */
  readonly stopping: boolean
}

/** A process that hosts instances. */
export interface Owner {
  readonly owner: string
  readonly process: ProcessId
}

export interface Claim {
  readonly name: string
  readonly engine: string
}

/** One live owner per instance name, in the tables of the store. Every member is one transaction. */
export interface Registry {
  readonly list: () => TE.TaskEither<Failure, readonly Registered[]>
  /** All of the names, or none: then the right has the entries that stand in the way. */
  readonly claim: (owner: Owner, claims: readonly Claim[]) => TE.TaskEither<Failure, readonly Registered[]>
  /**
   * All of the names, also `from` others that live; they see it and let go. Or none, where some are `inTheWay`: of those
   * nobody here can say whether they live.
   */
  readonly takeOver: (
    owner: Owner,
    claims: readonly Claim[],
  ) => TE.TaskEither<Failure, { readonly from: readonly Registered[]; readonly inTheWay: readonly Registered[] }>
  /** Undoes that for those who are still there. */
  readonly giveBack: (owner: string, from: readonly Registered[]) => TE.TaskEither<Failure, void>
  /** From now on others find them. */
  readonly publish: (owner: string, urls: ReadonlyMap<string, string>) => TE.TaskEither<Failure, void>
  /** Nobody finds them any more; the names stay claimed. */
  readonly withdraw: (owner: string, names: readonly string[]) => TE.TaskEither<Failure, void>
  /** Gives the names free. Whoever was asked to stop leaves a note, so that no other host takes its place at once. */
  readonly release: (owner: string, names: readonly string[]) => TE.TaskEither<Failure, void>
  /** Gives the owner's row up, with all that it may still have. */
  readonly leave: (owner: string) => TE.TaskEither<Failure, void>
  /** What the owner has, and what of it a person asked to stop. */
  readonly own: (
    owner: string,
  ) => TE.TaskEither<Failure, readonly { readonly name: string; readonly stopping: boolean }[]>
  readonly askToStop: (names: readonly string[], nowMs: number) => TE.TaskEither<Failure, void>
  /** When a person last had this instance stopped and nobody launched it since. */
  readonly stoppedAtMs: (name: string) => TE.TaskEither<Failure, number | undefined>
  /** Owners whose process is gone for certain; of `others`, those that never entered here count as gone. */
  readonly deadOwners: (others: readonly string[]) => TE.TaskEither<Failure, readonly string[]>
  readonly ownerLives: (owner: string) => TE.TaskEither<Failure, boolean>
}

const host = t.type({
  owner: textColumn,
  bootId: textColumn,
  pidNamespace: textColumn,
  pid: countColumn,
  startTime: textColumn,
})
type HostRow = t.TypeOf<typeof host>

const entry = t.intersection([
  t.type({ name: textColumn, owner: textColumn, engine: textColumn }),
  t.partial({ url: textColumn, stopRequestedAtMs: countColumn }),
])

/** To be called in a transaction that has seen that nobody is in the way. */
const enter = (sql: Sql, { owner, process }: Owner, claims: readonly Claim[], nowMs: number): void => {
  const { bootId, pidNamespace, pid, startTime } = process
  sql.run(
    `INSERT INTO hosts (owner, bootId, pidNamespace, pid, startTime, startedAtMs) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (owner) DO NOTHING`,
    ...[owner, bootId, pidNamespace, pid, startTime, nowMs],
  )
  for (const { name, engine } of claims) {
    sql.run(
      'INSERT OR REPLACE INTO instances (name, owner, engine, claimedAtMs) VALUES (?, ?, ?, ?)',
      ...[name, owner, engine, nowMs],
    )
  }
}

export const registryOf = (store: Store, now: () => number): Registry => ({
  list: () => store.read(entries),
  claim: (owner, claims) =>
    store.write(sql => {
      const names = new Set(claims.map(({ name }) => name))
      const taken = entries(sql).filter(({ name }) => names.has(name))
      if (taken.length === 0) enter(sql, owner, claims, now())
      return taken
    }),
  takeOver: (owner, claims) =>
    store.write(sql => {
      const names = new Set(claims.map(({ name }) => name))
      const standing = entries(sql).filter(({ name }) => names.has(name))
      const inTheWay = standing.filter(({ life }) => life === 'elsewhere')
      if (inTheWay.length > 0) return { from: [], inTheWay }
      enter(sql, owner, claims, now())
      return { from: standing.filter(({ life }) => life === 'alive'), inTheWay }
    }),
  giveBack: (owner, from) =>
    store.write(sql => {
      for (const { name, owner: former, url, engine } of from) {
        sql.run(
          `UPDATE instances SET owner = ?, url = ?, engine = ? WHERE name = ? AND owner = ?
             AND EXISTS (SELECT 1 FROM hosts WHERE hosts.owner = ?)`,
          ...[former, url ?? null, engine, name, owner, former],
        )
      }
    }),
  publish: (owner, urls) =>
    store.write(sql => {
      for (const [name, url] of urls)
        sql.run('UPDATE instances SET url = ? WHERE name = ? AND owner = ?', url, name, owner)
    }),
  withdraw: (owner, names) =>
    store.write(sql => {
      for (const name of names) sql.run('UPDATE instances SET url = NULL WHERE name = ? AND owner = ?', name, owner)
    }),
  release: (owner, names) =>
    store.write(sql => {
      for (const name of names) release(sql, owner, name)
    }),
  leave: owner =>
    store.write(sql => {
      sql.run('DELETE FROM instances WHERE owner = ?', owner)
      sql.run('DELETE FROM hosts WHERE owner = ?', owner)
    }),
  own: owner =>
    store.read(sql =>
      sql
        .all(
          t.intersection([t.type({ name: textColumn }), t.partial({ stopRequestedAtMs: countColumn })]),
          'SELECT name, stopRequestedAtMs FROM instances WHERE owner = ?',
          owner,
        )
        .map(({ name, stopRequestedAtMs }) => ({ name, stopping: stopRequestedAtMs !== undefined })),
    ),
  askToStop: (names, nowMs) =>
    store.write(sql => {
      for (const name of names) {
        sql.run("UPDATE instances SET stopRequestedAtMs = ? WHERE name = ? AND owner <> ''", nowMs, name)
      }
    }),
  stoppedAtMs: name =>
    store.read(
      sql =>
        sql.one(
          t.partial({ stopRequestedAtMs: countColumn }),
          'SELECT stopRequestedAtMs FROM instances WHERE name = ?',
          name,
        )?.stopRequestedAtMs,
    ),
  deadOwners: others =>
    store.read(sql => {
      const rows = hosts(sql)
      const known = new Set(rows.map(({ owner }) => owner))
      const gone = rows.filter(row => lifeOf(row) === 'gone').map(({ owner }) => owner)
      return [...gone, ...others.filter(owner => !known.has(owner))]
    }),
  ownerLives: owner =>
    store.read(sql => {
      const row = sql.one(host, 'SELECT * FROM hosts WHERE owner = ?', owner)
      return row !== undefined && lifeOf(row) === 'alive'
    }),
})

const hosts = (sql: Sql): readonly HostRow[] => sql.all(host, 'SELECT * FROM hosts')

const entries = (sql: Sql): readonly Registered[] => {
  // Before their hosts: one that claims between the two looks must not be taken for dead.
  const claimed = sql.all(
    entry,
    "SELECT name, owner, engine, url, stopRequestedAtMs FROM instances WHERE owner <> '' ORDER BY name",
  )
  const owners = new Map(hosts(sql).map(row => [row.owner, { pid: row.pid, life: lifeOf(row) }]))
  return claimed.map(({ name, owner, engine, url, stopRequestedAtMs }) => {
    const { pid = 0, life = 'gone' } = owners.get(owner) ?? {}
    return {
      name,
      owner,
      engine,
      pid,
      url,
      life: life === 'gone' ? 'dead' : life,
      stopping: stopRequestedAtMs !== undefined,
    }
  })
}

const release = (sql: Sql, owner: string, name: string): void => {
  sql.run(
    "UPDATE instances SET owner = '', url = NULL WHERE name = ? AND owner = ? AND stopRequestedAtMs IS NOT NULL",
    name,
    owner,
  )
  sql.run('DELETE FROM instances WHERE name = ? AND owner = ?', name, owner)
}
