import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { latestMomentMs, leftOpen } from '../budget/left-open.ts'
import { ownersOfOpenTurns } from '../budget/recover.ts'
import { exhausted } from '../budget/sentences.ts'
import { isRunning } from '../process/identity.ts'
import { processesWithMark } from '../process/mark.ts'
import type { Failure } from '../protocol/failure.ts'
import { type Finding, fine, problem, warning } from './doctor-finding.ts'
import { budgetVerdict } from './explain.ts'
import type { State } from './state.ts'

/** What the open store knows: what hosts that died left behind, budgets that are used up, moments that are yet to come. */
export const lookAtStore =
  (state: State): T.Task<readonly Finding[]> =>
  async () => {
    const told = await pipe(
      remains(state),
      TE.bindTo('remains'),
      TE.bind('budgets', () => budgets(state)),
      TE.bind('clock', () => clock(state)),
    )()
    if (E.isLeft(told)) return [problem('store', told.left.code, told.left.sentence)]
    const { remains: left, budgets: used, clock: time } = told.right
    return [fine('store', `${state.store.file} opens, and can be trusted.`), ...left, ...used, ...time]
  }

const mend = 'errand doctor --fix'

const remains = ({ store, registry }: State): TE.TaskEither<Failure, readonly Finding[]> =>
  pipe(
    registry.list(),
    TE.bindTo('entries'),
    TE.bind('dead', () => pipe(ownersOfOpenTurns(store), TE.chain(registry.deadOwners))),
    TE.bind('open', ({ dead }) => leftOpen(store, dead)),
    TE.chainTaskK(({ entries, open }) => async () => {
      const stale = entries.filter(({ life }) => life === 'dead')
      const elsewhere = entries.filter(({ life }) => life === 'elsewhere')
      const marked = open.length === 0 ? [] : await processesWithMark(open.map(({ turn }) => turn))
      const leaders = open.flatMap(({ process }) => (process !== undefined && isRunning(process) ? [process.pid] : []))
      const pids = [...new Set([...leaders, ...marked.map(({ pid }) => pid)])]
      return [
        ...stale.map(({ name, pid }) =>
          warning('registry', `${name} is listed for process ${pid}, which is gone.`, mend),
        ),
        ...elsewhere.map(({ name, pid }) =>
          warning(
            'registry',
            `${name} is listed for process ${pid} of another container or pid namespace, which cannot be seen from here.`,
            `errand stop ${name}`,
          ),
        ),
        ...open.map(({ turn, instance }) =>
          warning('turns', `Turn ${turn} of ${instance} is open, and its host is gone: its money is still held.`, mend),
        ),
        ...(pids.length === 0
          ? []
          : [warning('orphans', `Processes of turns whose host is gone still run: ${pids.join(', ')}.`, mend)]),
        ...(stale.length + elsewhere.length + open.length === 0
          ? [
              fine(
                'registry',
                `${entries.length === 0 ? 'Nothing runs' : `${entries.length} run`}, nothing is left behind.`,
              ),
            ]
          : []),
      ]
    }),
  )

const budgets = (state: State): TE.TaskEither<Failure, readonly Finding[]> =>
  pipe(
    [...state.config.instances.values()].filter(({ enabled }) => enabled),
    TE.traverseSeqArray(one =>
      pipe(
        budgetVerdict(state, one),
        TE.map(verdict => {
          if (verdict.kind !== 'exhausted') return []
          const { code, sentence } = exhausted(verdict.by)
          return [problem(one.name, code, sentence, /errand budget add [^.]*/.exec(sentence)?.[0])]
        }),
      ),
    ),
    TE.map(all => all.flat()),
  )

// What a clock is corrected by while it runs.
const driftMs = 60_000

const clock = ({ store, where }: State): TE.TaskEither<Failure, readonly Finding[]> =>
  pipe(
    latestMomentMs(store),
    TE.map(latestMs => {
      const now = where.now()
      if (latestMs === undefined || latestMs <= now + driftMs)
        return [fine('clock', 'No moment in the store is yet to come.')]
      const [then, today] = [latestMs, now].map(ms => new Date(ms).toISOString())
      return [
        warning(
          'clock',
          `The store knows of ${then}, and the clock says ${today}: it was set back. Budgets per day and month follow it.`,
          process.platform === 'linux' ? 'timedatectl set-ntp true' : undefined,
        ),
      ]
    }),
  )
