import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { ProvedTurn } from '../budget/ledger.ts'
import type { Engine } from '../engine/engine.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { TalkRequest } from '../protocol/talk-request.ts'
import { type Caller, operator } from './identity.ts'
import type { Instance } from './instance.ts'

/** A talk that passed every rule but those of money. */
export interface Admitted {
  readonly prompt: string
  readonly from: string
  readonly depth: number
  /** The conversation that it goes on with. */
  readonly thread?: string
  /** The piece of work that it belongs to; a talk that a turn made belongs to the turn's. */
  readonly root?: string
  /** The turn that it was made from. */
  readonly parent?: ProvedTurn
}

type Admitting = Pick<Instance, 'name' | 'enabled' | 'maxDepth' | 'peers'> & {
  /** Absent where its engine is not loaded yet. */
  readonly settings?: { readonly engine: Pick<Engine, 'name' | 'resumes'> }
}
type Step = E.Either<Failure, TalkRequest>

/**
 * Enabled → depth → self and peer (docs/protocol.md, "Order of the checks"). A refusal names the rule, the instance and the
 * file that made it: whoever hears it has shown who it is.
 */
export const admit =
  (instance: Admitting, caller: Caller, file: string) =>
  (talk: TalkRequest): E.Either<Failure, Admitted> =>
    pipe(
      enabled(instance, file, talk),
      E.chain(provedDepth(caller)),
      E.chain(depthWithin(instance, file)),
      E.chain(provedName(caller)),
      E.chain(notItself(instance)),
      E.chain(peerAllowed(instance, caller, file)),
      E.chain(keepsThreads(instance)),
      E.map(({ prompt, fromInstance, depth, ext }) => ({
        prompt,
        from: fromInstance,
        depth,
        ...(ext?.thread === undefined ? {} : { thread: ext.thread }),
        // On a bus without a secret whoever knows the id of a piece of work is taken for its script.
        ...(caller.kind === 'turn' ? { parent: caller.proved } : ext?.root === undefined ? {} : { root: ext.root }),
      })),
    )

const enabled = (instance: Admitting, file: string, talk: TalkRequest): Step =>
  instance.enabled
    ? E.right(talk)
    : E.left(failure('bus_disabled', `Instance ${instance.name} is disabled ("enabled": false in ${file}).`))

const provedDepth =
  (caller: Caller) =>
  (talk: TalkRequest): Step => {
    if (caller.kind !== 'turn' || talk.depth === caller.proved.depth + 1) return E.right(talk)
    const expected = caller.proved.depth + 1
    return E.left(failure('invalid_request', `This turn token speaks at depth ${expected}, not ${talk.depth}.`))
  }

const depthWithin =
  ({ name, maxDepth }: Admitting, file: string) =>
  (talk: TalkRequest): Step =>
    talk.depth <= maxDepth
      ? E.right(talk)
      : E.left(
          failure(
            'max_depth_exceeded',
            `Depth ${talk.depth} is beyond the maxDepth of ${name}, ${maxDepth}, in ${file}.`,
          ),
        )

const provedName =
  (caller: Caller) =>
  (talk: TalkRequest): Step =>
    caller.kind !== 'turn' || talk.fromInstance === caller.proved.instance
      ? E.right(talk)
      : E.left(failure('peer_not_allowed', `This turn token speaks for ${caller.proved.instance} only.`))

const notItself =
  ({ name }: Admitting) =>
  (talk: TalkRequest): Step =>
    talk.fromInstance === name
      ? E.left(failure('peer_not_allowed', `Instance ${name} does not talk to itself.`))
      : E.right(talk)

const peerAllowed =
  ({ name, peers }: Admitting, caller: Caller, file: string) =>
  (talk: TalkRequest): Step => {
    const { fromInstance } = talk
    const isOperator = caller.kind === 'operator' && fromInstance === operator
    if (isOperator || peers.includes('*') || peers.includes(fromInstance)) return E.right(talk)
    const who = JSON.stringify(fromInstance.slice(0, 64))
    return E.left(failure('peer_not_allowed', `${who} is not among the peers of ${name} in ${file}.`))
  }

const keepsThreads =
  ({ name, settings }: Admitting) =>
  (talk: TalkRequest): Step =>
    talk.ext?.thread === undefined || settings === undefined || settings.engine.resumes === true
      ? E.right(talk)
      : E.left(
          failure(
            'invalid_request',
            `${name} runs on the engine ${settings.engine.name}, which keeps no sessions: a talk to it goes on with no thread.`,
          ),
        )
