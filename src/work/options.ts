import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf, sayMismatch } from '../protocol/decode.ts'
import type { Envelope } from '../protocol/envelope.ts'
import { isTurnCost, limitMicroUsd } from '../protocol/money.ts'
import type { ProgressEvent } from '../protocol/progress.ts'
import { isRootId, isThreadName } from '../protocol/talk-request.ts'

/** What every piece of work may be told. */
export interface WorkOptions {
  /**
   * US dollars that all of it together may cost, with what its instances delegate: above 0, at most 10,000. Held and refused
   * (`budget_exhausted`) like any other budget, so also branches at once cannot oversell it. A turn holds its instance's
   * `maxTurnUsd`; without that, all that is left, and then the others wait for it. Default: no limit but those of budgets.json.
   */
  readonly budgetUsd?: number
  /** Milliseconds, above 0 and at most 24 days, for all of it; past it what runs is ended with `timeout`. Default: none. */
  readonly timeoutMs?: number
  /** Aborted: what runs is ended, what was not asked yet never is, and their outcome is `cancelled`. */
  readonly signal?: AbortSignal
  /** Who speaks, as in `bus.talk`. Default: `operator`. */
  readonly from?: string
  /** Repeats each talk at most so often, an integer from 0, as in `bus.talk`. Default: 0. */
  readonly retry?: number
  /**
   * Keeps the answer of each step under this name (1 to 100 letters, digits and `._:/-`), per state folder: a second run with the
   * same name and input takes them from there, joins what still runs, and asks only for the rest. Another input, or a damaged
   * record, is the failure `workflow_state`. Kept for 24 hours after its end, for 7 days where it was interrupted or failed.
   */
  readonly workflow?: string
  /** Forgets what was kept under the name of `workflow`. Default: false. */
  readonly fresh?: boolean
  /** An earlier result: this belongs to the same piece of work, its tree and its budget. */
  readonly within?: { readonly root?: string | undefined }
  /** Called when a step is asked, and when it is answered. What it throws is an uncaught exception; the work goes on. */
  readonly onStep?: (event: StepEvent) => void
  /** Called for each thing that happens in a step meanwhile, as in `bus.talk`. What it throws is an uncaught exception. */
  readonly onProgress?: (event: ProgressEvent, step: StepOf) => void
}

/** Which step: its number, from 1, and the instance that is asked. */
export interface StepOf {
  readonly step: number
  readonly to: string
}

/** `kept`: the answer comes from the record of the workflow, and nothing was asked. */
export type StepEvent = StepOf &
  ({ readonly kind: 'asked' } | { readonly kind: 'answered'; readonly envelope: Envelope; readonly kept: boolean })

// Node's timers know no more than 2^31 - 1 ms.
const longestMs = 2 ** 31 - 1

const isFunction = (value: unknown): value is (...facts: readonly unknown[]) => unknown => typeof value === 'function'

const isCountFrom =
  (least: number, most: number) =>
  (value: unknown): value is number =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most

export const text = leaf(
  'a string that is not blank',
  (value): value is string => typeof value === 'string' && value.trim() !== '',
)
export const instanceName = leaf(
  'the name of an instance',
  (value): value is string => typeof value === 'string' && value.trim() !== '',
)
export const countFromOne = leaf('a whole number from 1 to 1000', isCountFrom(1, 1000))
export const promptMaker = leaf(
  'a string, or a function that makes one',
  (value): value is string | PromptMaker => typeof value === 'string' || isFunction(value),
)

/** Makes a prompt of the last answer; `answers` are all of them so far. */
export type PromptMaker = (previous: string, answers: readonly string[]) => string

/** A budget of at least one micro-dollar. */
export const isWorkBudget = (usd: unknown): usd is number =>
  typeof usd === 'number' && usd > 0 && isTurnCost(limitMicroUsd(usd)) && limitMicroUsd(usd) > 0

const isRootOrNone = (root: unknown): boolean => root === undefined || (typeof root === 'string' && isRootId(root))

export const workOptions = t.partial({
  budgetUsd: leaf('dollars, above 0 and at most 10,000', isWorkBudget),
  timeoutMs: leaf(
    'a number of milliseconds, above 0 and at most 24 days',
    (value): value is number => typeof value === 'number' && value > 0 && value <= longestMs,
  ),
  signal: leaf('an AbortSignal', (value): value is AbortSignal => value instanceof AbortSignal),
  from: text,
  retry: leaf('a whole number, 0 or more', isCountFrom(0, Number.MAX_SAFE_INTEGER)),
  workflow: leaf(
    'a name of 1 to 100 letters, digits, dots, dashes, underscores, colons and slashes',
    (value): value is string => typeof value === 'string' && isThreadName(value),
  ),
  fresh: leaf('true or false', (value): value is boolean => typeof value === 'boolean'),
  within: leaf(
    'a result of fan, chain or verify',
    (value): value is { readonly root?: string } =>
      typeof value === 'object' && value !== null && 'root' in value && isRootOrNone(value.root),
  ),
  onStep: leaf('a function', isFunction),
  onProgress: leaf('a function', isFunction),
})

/** Throws, in one sentence, where a script says what cannot be meant. */
export const checkRequest = (what: string, codec: t.Decoder<unknown, unknown>, request: unknown): void => {
  const sound = decode(codec, request)
  if (E.isLeft(sound)) throw new TypeError(`The ${what} cannot be done: ${sound.left.map(sayMismatch).join('; ')}.`)
}
