import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as t from 'io-ts/lib/index.js'
import type { Bus } from '../launch/script.ts'
import type { Site } from '../launch/site.ts'
import { leaf } from '../protocol/decode.ts'
import type { Envelope, FailureEnvelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { checkRequest, instanceName, type PromptMaker, promptMaker, type WorkOptions, workOptions } from './options.ts'
import { failed, openPiece } from './piece.ts'
import { digestOf } from './record.ts'
import { siteOfBus } from './site-of-bus.ts'

/** One link of a chain. */
export interface Link {
  /** The instance that is asked. */
  readonly to: string
  /**
   * A string, which from the second link on has the answer before it added after an empty line; or a function of the answer
   * before it (`''` for the first link) and of all answers so far. Default from the second link on: that answer alone.
   */
  readonly prompt?: string | PromptMaker
}

/** Whom to ask one after the other. */
export interface ChainRequest extends WorkOptions {
  /** 1 to 1000 links; the first one needs a prompt. */
  readonly steps: readonly Link[]
}

/** One link that was asked. */
export interface Linked {
  readonly to: string
  readonly prompt: string
  readonly envelope: Envelope
}

/** What became of a chain. */
export interface Chained {
  /** The last link was answered. */
  readonly success: boolean
  /** Its answer; `''` where the chain broke. */
  readonly text: string
  /** The links that were asked, in order; where the chain broke, the last of them is the one that failed. */
  readonly steps: readonly Linked[]
  /** Set where it broke. */
  readonly failure?: FailureEnvelope
  /** Of the tree of its turns (`errand log ROOT`); absent inside a turn, and where the work could not begin. */
  readonly root?: string
  /** US dollars that all of it has cost, with what was delegated. */
  readonly costUsd: number
}

/**
 * Asks one instance after the other, each with the answer of the one before it, and stops at the first that fails; the answers
 * before that are in the result all the same. A prompt function that throws fails its link (`invalid_request`). Rejects with a
 * `TypeError` of one sentence for wrong arguments, and for nothing else.
 */
export const chain = async (bus: Bus, request: ChainRequest): Promise<Chained> => {
  const site = siteOfBus(bus)
  checkRequest('chain', chainRequest, request)
  return chainAt(site, request)()
}

/** The same for whoever has its request. */
export const chainAt =
  (site: Site, { steps, ...options }: ChainRequest): T.Task<Chained> =>
  async () => {
    const input = steps.map(({ to, prompt }) => ({ to, digest: typeof prompt === 'string' ? digestOf(prompt) : null }))
    const piece = await openPiece(site, { kind: 'chain', steps: input }, options)()
    if (E.isLeft(piece)) {
      const [first] = steps
      return chained(first === undefined ? [] : [{ to: first.to, prompt: '', envelope: failed(piece.left, first.to) }])
    }
    const { ask, end, root } = piece.right
    const asked: Linked[] = []
    for (const [at, { to, prompt }] of steps.entries()) {
      const made = promptOf(prompt, asked, at)
      asked.push(
        E.isLeft(made)
          ? { to, prompt: '', envelope: failed(made.left, to) }
          : { to, prompt: made.right, envelope: await ask({ at, to, prompt: made.right }) },
      )
      if (asked.at(-1)?.envelope.success !== true) break
    }
    const { success } = chained(asked)
    return chained(asked, root, await end(success))
  }

const chained = (steps: readonly Linked[], root?: string, costUsd = 0): Chained => {
  const last = steps.at(-1)?.envelope
  return {
    success: last?.success === true,
    text: last?.text ?? '',
    steps,
    ...(last === undefined || last.success ? {} : { failure: last }),
    ...(root === undefined ? {} : { root }),
    costUsd,
  }
}

const promptOf = (prompt: Link['prompt'], asked: readonly Linked[], at: number): E.Either<Failure, string> => {
  const answers = asked.map(({ envelope }) => envelope.text)
  const previous = answers.at(-1) ?? ''
  if (typeof prompt !== 'function') {
    return E.right([prompt ?? '', ...(at === 0 ? [] : [previous])].filter(part => part.trim() !== '').join('\n\n'))
  }
  const cannot = (why: string) => failure('invalid_request', `The prompt of step ${at + 1} could not be made: ${why}`)
  return pipe(
    E.tryCatch(
      (): unknown => prompt(previous, answers),
      error => cannot(sayThrown(error)),
    ),
    // A script in plain JavaScript may return anything, such as a promise.
    E.chain(made => (typeof made === 'string' ? E.right(made) : E.left(cannot('its function must return a string.')))),
  )
}

// Anything can be thrown, also what cannot be written down.
const sayThrown = (error: unknown): string =>
  pipe(
    E.tryCatch(
      () => String(error),
      () => 'something without words was thrown.',
    ),
    E.toUnion,
  )

const link = t.intersection([t.type({ to: instanceName }), t.partial({ prompt: promptMaker })])

const links = leaf(
  'a list of 1 to 1000 objects with to and prompt; the first needs a prompt',
  (value): value is Link[] => {
    const all = t.array(link)
    if (!all.is(value) || value.length === 0 || value.length > 1000) return false
    const first = value[0]?.prompt
    return typeof first === 'function' || (typeof first === 'string' && first.trim() !== '')
  },
)

const chainRequest = t.intersection([t.type({ steps: links }), workOptions])
