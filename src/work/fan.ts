import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as t from 'io-ts/lib/index.js'
import type { Bus } from '../launch/script.ts'
import type { Site } from '../launch/site.ts'
import { leaf } from '../protocol/decode.ts'
import type { Envelope, FailureEnvelope } from '../protocol/envelope.ts'
import { checkRequest, countFromOne, instanceName, text, type WorkOptions, workOptions } from './options.ts'
import { failed, openPiece } from './piece.ts'
import { digestOf } from './record.ts'
import { siteOfBus } from './site-of-bus.ts'

/** Whom to ask what, all at once: one `prompt` for each name of `to`, or `prompts` and `to` in pairs. */
export type FanRequest = WorkOptions & {
  /** Talks at once, 1 to 1000; what an instance does at once is for its own `concurrency`. Default: 8. */
  readonly atOnce?: number
} & (
    | {
        /** Not blank; everyone is asked this. */
        readonly prompt: string
        /** 1 to 1000 names of instances; a name that comes twice is asked twice. */
        readonly to: readonly string[]
      }
    | {
        /** 1 to 1000 prompts, none blank. */
        readonly prompts: readonly string[]
        /** As many names, one for each prompt; or one name for all. */
        readonly to: string | readonly string[]
      }
  )

/** What became of one branch. */
export interface Branch {
  readonly to: string
  readonly prompt: string
  readonly envelope: Envelope
}

/** What became of a fan. */
export interface Fanned {
  /** At least one branch was answered. */
  readonly success: boolean
  /** Every branch, in the order in which it was given, whatever became of it. */
  readonly branches: readonly Branch[]
  /** Set where none was answered: the first one's failure. */
  readonly failure?: FailureEnvelope
  /** Of the tree of its turns (`errand log ROOT`); absent inside a turn, and where the work could not begin. */
  readonly root?: string
  /** US dollars that all of it has cost, with what was delegated. */
  readonly costUsd: number
}

/**
 * Asks several instances at once, bounded by `atOnce` and by one budget, and resolves when every branch has its envelope. A
 * branch that fails is a failure of that branch alone. Where the work cannot begin (`workflow_state`, a store that refuses),
 * each branch has that failure. Rejects with a `TypeError` of one sentence for wrong arguments, and for nothing else.
 */
export const fan = async (bus: Bus, request: FanRequest): Promise<Fanned> => {
  const site = siteOfBus(bus)
  checkRequest('fan', fanRequest, request)
  return fanAt(site, branchesOf(request), request)()
}

/** The same for whoever has its branches. */
export const fanAt =
  (
    site: Site,
    branches: readonly Omit<Branch, 'envelope'>[],
    options: WorkOptions & { readonly atOnce?: number },
  ): T.Task<Fanned> =>
  async () => {
    const steps = branches.map(({ to, prompt }) => ({ to, digest: digestOf(prompt) }))
    const piece = await openPiece(site, { kind: 'fan', steps }, options)()
    if (E.isLeft(piece)) {
      const all = branches.map(branch => ({ ...branch, envelope: failed(piece.left, branch.to) }))
      return fanned(all, undefined, 0)
    }
    const { ask, end, root } = piece.right
    const envelopes = await boundedBy(options.atOnce ?? 8, branches, (branch, at) => ask({ ...branch, at }))
    const all = branches.flatMap((branch, at) => {
      const envelope = envelopes.get(at)
      return envelope === undefined ? [] : [{ ...branch, envelope }]
    })
    return fanned(all, root, await end(all.every(({ envelope }) => envelope.success)))
  }

const fanned = (branches: readonly Branch[], root: string | undefined, costUsd: number): Fanned => {
  const success = branches.some(({ envelope }) => envelope.success)
  const failure = success ? undefined : branches.map(({ envelope }) => envelope).find(one => !one.success)
  return {
    success,
    branches,
    ...(failure === undefined ? {} : { failure }),
    ...(root === undefined ? {} : { root }),
    costUsd,
  }
}

const boundedBy = async <A, B>(
  atOnce: number,
  all: readonly A[],
  run: (one: A, at: number) => Promise<B>,
): Promise<ReadonlyMap<number, B>> => {
  const results = new Map<number, B>()
  const left = all.entries()
  const lane = async (): Promise<void> => {
    for (const [at, one] of left) results.set(at, await run(one, at))
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane))
  return results
}

const branchesOf = (request: FanRequest): readonly Omit<Branch, 'envelope'>[] => {
  if (!('prompts' in request)) return request.to.map(to => ({ to, prompt: request.prompt }))
  const { prompts, to } = request
  return prompts.map((prompt, at) => ({ to: typeof to === 'string' ? to : (to[at] ?? ''), prompt }))
}

const isList = (value: unknown, is: (one: unknown) => boolean): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.length <= 1000 && value.every(is)

const names = leaf('a list of 1 to 1000 names of instances', (value): value is readonly string[] =>
  isList(value, instanceName.is),
)

const pairs = leaf(
  'an object with prompt and to (a list of names), or with prompts (a list) and to (a name, or as many)',
  (value): value is object => {
    if (typeof value !== 'object' || value === null || !('to' in value)) return false
    const { to } = value
    if (!('prompts' in value)) return 'prompt' in value && names.is(to)
    if ('prompt' in value || !isList(value.prompts, text.is)) return false
    return instanceName.is(to) || (names.is(to) && to.length === value.prompts.length)
  },
)

const fanRequest = t.intersection([pairs, workOptions, t.partial({ prompt: text, atOnce: countFromOne })])
