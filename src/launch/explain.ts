import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { scopesOf } from '../budget/balances.ts'
import { everyInstance, judge, type Verdict } from '../budget/rules.ts'
import { exhausted, setIn } from '../budget/sentences.ts'
import { windowsOf } from '../budget/windows.ts'
import type { Config, InstanceConfig } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { chainTo } from '../config/reach.ts'
import type { Failure } from '../protocol/failure.ts'
import { refuseEarly } from './early.ts'
import type { State } from './state.ts'

/** What a file says that lets a talk through, or stops it. */
export interface Rule {
  readonly rule: 'enabled' | 'maxDepth' | 'self' | 'peers' | 'budget'
  readonly instance: string
  /** Where it stands in the file: `instances.worker.peers`. Absent for `self`, which no file can change. */
  readonly key?: string
  readonly file: string
}

/** What would become of a talk, as far as that is known before anything runs. */
export interface Explained {
  /** What the wire would carry. */
  readonly depth: number
  readonly refusal?: { readonly why: Failure; readonly by: Rule }
  /** From one to the other, both included: the talk itself where it is admitted, else a way around the refusal. */
  readonly chain?: readonly string[]
}

/** Whether a talk would be admitted, now; and which rule of which file stops it. Asks nobody. Left: nothing can be said. */
export const explain = (
  state: State,
  from: string,
  to: string,
  ownDepth: number,
): TE.TaskEither<Failure, Explained> => {
  const { config } = state
  const target = config.instances.get(to)
  if (target === undefined) return TE.left(noSuchInstance(config, to))
  const depth = ownDepth + 1
  const chain = chainTo(config, from, to, ownDepth)
  const told = { depth, ...(chain === undefined ? {} : { chain }) }
  const early = refuseEarly(config, to, { fromInstance: from, prompt: 'May I?', depth: ownDepth })
  if (E.isLeft(early)) {
    const by = ruleOf(config, early.left, from, to)
    return by === undefined ? TE.left(early.left) : TE.right({ ...told, refusal: { why: early.left, by } })
  }
  return pipe(
    budgetVerdict(state, target),
    TE.map(verdict => {
      if (verdict.kind !== 'exhausted') return told
      const { instance } = verdict.by.scope
      const key = instance === everyInstance ? 'budget' : `instances.${instance}.budget`
      return {
        ...told,
        refusal: {
          why: setIn(config.file)(exhausted(verdict.by)),
          by: { rule: 'budget', instance, key, file: config.file },
        },
      }
    }),
  )
}

/** How the budgets that bear on an instance stand. */
export const budgetVerdict = (
  { store, where }: Pick<State, 'store' | 'where'>,
  { name, limits }: Pick<InstanceConfig, 'name' | 'limits'>,
): TE.TaskEither<Failure, Verdict> =>
  store.read(sql => judge(scopesOf(sql, { instance: name, root: '', limits }, windowsOf(where.now())), limits))

const ruleOf = ({ file }: Config, { code }: Failure, from: string, instance: string): Rule | undefined => {
  const at = (rule: Rule['rule']): Rule => ({ rule, instance, key: `instances.${instance}.${rule}`, file })
  if (code === 'bus_disabled') return at('enabled')
  if (code === 'max_depth_exceeded') return at('maxDepth')
  if (code !== 'peer_not_allowed') return undefined
  return from === instance ? { rule: 'self', instance, file } : at('peers')
}
