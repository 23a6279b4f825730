import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, sayMismatch } from '../protocol/decode.ts'
import { decodeEnvelope, type Envelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'

/** What a workflow is to ask of whom; by this its record is known again. */
export interface Input {
  readonly kind: 'fan' | 'chain' | 'verify'
  readonly steps: readonly {
    readonly to: string
    /** Of its prompt; `null` where that is made from an earlier answer. */
    readonly digest: string | null
  }[]
}

/** SHA-256 of what is asked, as hex. */
export const digestOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** The record of this name does not fit, or cannot be read. */
export const workflowFailure = (name: string, what: string): Failure<'workflow_state'> =>
  failure(
    'workflow_state',
    `Workflow "${name}" ${what}. Begin it anew with --fresh (in a script, fresh: true), or give this one another name.`,
  )

/** Whether a record is of this input; the left says what differs. */
export const fits = (name: string, recorded: string, input: Input): E.Either<Failure, void> =>
  pipe(
    parsed(recorded),
    E.chain(json =>
      pipe(
        decode(inputCodec, json),
        E.mapLeft(wrong => wrong.map(sayMismatch).join('; ')),
      ),
    ),
    E.mapLeft(why => workflowFailure(name, `has a record that cannot be read (${why})`)),
    E.chain(found => {
      const what = differenceOf(found, input)
      return what === undefined ? E.right(undefined) : E.left(workflowFailure(name, `does not fit its record: ${what}`))
    }),
  )

const differenceOf = (before: Input, now: Input): string | undefined => {
  if (before.kind !== now.kind) return `it was begun as a ${before.kind}, and this is a ${now.kind}`
  if (before.steps.length !== now.steps.length)
    return `it was begun with ${count(before.steps.length)}, and now has ${count(now.steps.length)}`
  for (const [at, { to, digest }] of now.steps.entries()) {
    const then = before.steps[at]
    if (then?.to !== to) return `${stepName(now, at)} was for ${then?.to}, and now is for ${to}`
    if (then.digest !== digest) return `${stepName(now, at)} has another prompt than before`
  }
  return undefined
}

const count = (steps: number): string => (steps === 1 ? '1 step' : `${steps} steps`)

const stepName = ({ kind }: Input, at: number): string =>
  kind === 'verify' ? (at === 0 ? 'the answering' : 'the judging') : `${kind === 'fan' ? 'branch' : 'step'} ${at + 1}`

/** An answer that was kept. */
export const keptAnswer = (name: string, step: number, to: string, envelope: string): E.Either<Failure, Envelope> =>
  pipe(
    parsed(envelope),
    E.chain(json => decodeEnvelope(json, { fromInstance: to, durationMs: 0 })),
    E.mapLeft(why =>
      workflowFailure(name, `has a record that cannot be read (the answer of step ${step + 1}: ${why})`),
    ),
  )

const parsed = (text: string): E.Either<string, unknown> =>
  E.tryCatch(
    (): unknown => JSON.parse(text),
    () => 'it is no JSON',
  )

const inputCodec: t.Decoder<unknown, Input> = t.type({
  kind: t.union([t.literal('fan'), t.literal('chain'), t.literal('verify')]),
  steps: t.array(t.type({ to: t.string, digest: t.union([t.string, t.null]) })),
})
