import { randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { openRoot, rootState } from '../budget/roots.ts'
import { turnRecord } from '../budget/turns.ts'
import { sayDuration } from '../engine/sentence.ts'
import type { Site } from '../launch/site.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Envelope, failureEnvelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { limitMicroUsd, microUsdFrom, usdFrom } from '../protocol/money.ts'
import type { StepEvent, WorkOptions } from './options.ts'
import { digestOf, type Input } from './record.ts'
import { openWorkflow, type Workflow } from './records.ts'

/** One talk of a piece of work. */
export interface Step {
  /** Its place among the steps, from 0. */
  readonly at: number
  readonly to: string
  readonly prompt: string
  readonly thread?: string
  /** Whether an answer is one; else its workflow asks anew when it goes on. Default: each is. */
  readonly isSound?: (text: string) => boolean
}

/** A piece of work that was begun: its talks are made under one root. */
export interface Piece {
  /** The same each time that its workflow goes on. */
  readonly id: string
  /** Inside a turn it has none of its own. */
  readonly root: string | undefined
  /** Never rejects: whatever becomes of the step is an envelope. One that its workflow has an answer of is not asked again. */
  readonly ask: (step: Step) => Promise<Envelope>
  /** Dollars that all under its root has cost, after the last step. `complete`: every step was answered. */
  readonly end: (complete: boolean) => Promise<number>
}

/** Begins a piece of work, or goes on with the workflow of its name. Left: `workflow_state`, or what the store refuses. */
export const openPiece = (site: Site, input: Input, options: WorkOptions): TE.TaskEither<Failure, Piece> => {
  const refusal = site.refusal()
  if (refusal !== undefined) return TE.left(refusal)
  const { store, where, inside } = site.state
  const newId = randomBytes(8).toString('hex')
  // The root of what a turn asks is the turn's own, and so are its limits.
  if (inside !== undefined) return TE.right(pieceOf(site, options, newId, undefined, undefined))
  const { workflow: name, fresh = false, within, budgetUsd } = options
  return pipe(
    name === undefined
      ? TE.right<Failure, Workflow | undefined>(undefined)
      : openWorkflow(store, where.now, { name, input, fresh, newId, root: within?.root }),
    TE.chain(workflow => {
      const root = workflow?.root ?? within?.root ?? newId
      const limit = budgetUsd === undefined ? {} : { limitMicroUsd: limitMicroUsd(budgetUsd) }
      return pipe(
        openRoot(store, { root, ...limit }, where.now()),
        TE.map(() => pieceOf(site, options, workflow?.id ?? newId, root, workflow)),
      )
    }),
  )
}

const pieceOf = (
  site: Site,
  options: WorkOptions,
  id: string,
  root: string | undefined,
  workflow: Workflow | undefined,
): Piece => {
  const { store, where } = site.state
  const begunAtMs = where.now()
  const elapsedMs = stopwatch()
  let toldMicroUsd = 0

  const talk = async ({ at, to, prompt, thread }: Step, key?: string): Promise<Envelope> => {
    const { signal, from, retry, timeoutMs, onProgress } = options
    const leftMs = timeoutMs === undefined ? undefined : timeoutMs - elapsedMs()
    const tooLate = leftMs !== undefined && leftMs <= 0 ? isOver(timeoutMs ?? 0) : undefined
    const refusal = signal?.aborted ? givenUp : tooLate
    if (refusal !== undefined) return failureEnvelope(refusal, { fromInstance: to, durationMs: 0 })
    return site.talk({
      name: to,
      prompt,
      ...(root === undefined ? {} : { root }),
      ...(thread === undefined ? {} : { thread }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(signal === undefined ? {} : { signal }),
      ...(leftMs === undefined ? {} : { timeoutMs: leftMs }),
      ...(from === undefined ? {} : { from }),
      ...(retry === undefined ? {} : { retry }),
      ...(onProgress === undefined ? {} : { onProgress: event => onProgress(event, { step: at + 1, to }) }),
    })()
  }

  const tell = (event: StepEvent): void => {
    try {
      options.onStep?.(event)
    } catch (error) {
      // It is the listener's own, and none of the work's.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  /** What was cut by the end of its host, or failed for good before this run, is asked anew; all else is this answer. */
  const isOld = async ({ ext, ...envelope }: Envelope): Promise<boolean> => {
    if (envelope.success || ext?.turn === undefined) return false
    const found = await turnRecord(store, where.now(), ext.turn)()
    if (E.isLeft(found) || found.right === undefined) return false
    const { createdAtMs, endedAtMs = Number.POSITIVE_INFINITY } = found.right
    return createdAtMs < begunAtMs && (endedAtMs < begunAtMs || envelope.errorCode === 'cancelled')
  }

  const askUnder = async (kept: Workflow, step: Step): Promise<{ envelope: Envelope; kept: boolean }> => {
    const begun = await kept.begin(step.at, step.to, digestOf(step.to, step.prompt))()
    if (E.isLeft(begun)) return { envelope: failed(begun.left, step.to), kept: false }
    if (begun.right.kind === 'answered') return { envelope: begun.right.envelope, kept: true }
    tell({ kind: 'asked', step: step.at + 1, to: step.to })
    const envelope = await talk(step, `work:${id}:${step.at}:${begun.right.attempt}`)
    await kept.note(
      step.at,
      begun.right.attempt,
      envelope,
      envelope.success && step.isSound?.(envelope.text) !== false,
    )()
    return begun.right.resumed && !options.signal?.aborted && (await isOld(envelope))
      ? askUnder(kept, step)
      : { envelope, kept: false }
  }

  return {
    id,
    root,
    ask: async step => {
      if (workflow === undefined) tell({ kind: 'asked', step: step.at + 1, to: step.to })
      const { envelope, kept } =
        workflow === undefined ? { envelope: await talk(step), kept: false } : await askUnder(workflow, step)
      const cost = microUsdFrom(envelope.ext?.costUsd)
      toldMicroUsd += cost === 'unknown' ? 0 : cost
      tell({ kind: 'answered', step: step.at + 1, to: step.to, envelope, kept })
      return envelope
    },
    end: async complete => {
      if (complete) await workflow?.end()
      const state = root === undefined ? E.right(undefined) : await rootState(store, root)()
      return usdFrom(E.isRight(state) && state.right !== undefined ? state.right.spentMicroUsd : toldMicroUsd)
    },
  }
}

/** A failure as the envelope that a step would have been answered with. */
export const failed = (why: Failure, to: string): Extract<Envelope, { success: false }> =>
  failureEnvelope(why, { fromInstance: to, durationMs: 0 })

const givenUp = failure('cancelled', 'The work was cancelled before this was asked.')

const isOver = (timeoutMs: number): Failure =>
  failure('timeout', `The time of this piece of work, ${sayDuration(timeoutMs)}, was over before this was asked.`)
