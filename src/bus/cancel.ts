import { setTimeout as pause } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Relative } from '../budget/ledger.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Envelope, failureEnvelope, successEnvelope } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Bus } from './bus.ts'
import type { Host } from './host.ts'
import type { Caller } from './identity.ts'

/** A turn among its relatives. */
interface Meant {
  readonly turn: Relative
  readonly family: readonly Relative[]
}

/**
 * Ends a turn and all that it delegated, and answers when it is over: authenticate → find → may it → end → reply.
 * `unlessWaitedFor`: whoever asks has given up for itself alone.
 */
export const cancel =
  (bus: Bus) =>
  (authorization: readonly string[], turn: string, unlessWaitedFor = false): T.Task<Envelope> => {
    const { host, instance } = bus
    const elapsedMs = stopwatch()
    const facts = () => ({ fromInstance: instance.name, durationMs: elapsedMs() })
    return pipe(
      bus.authenticate(authorization),
      TE.chain(caller =>
        pipe(
          host.ledger.family(turn),
          TE.chainEitherK(family => find(family, turn)),
          TE.chainEitherK(mayCancel(caller)),
          TE.chain(end(bus, caller, unlessWaitedFor)),
        ),
      ),
      TE.match(
        (why): Envelope => failureEnvelope(why, facts()),
        text => successEnvelope(text, facts()),
      ),
    )
  }

const find = (family: readonly Relative[], id: string): E.Either<Failure, Meant> => {
  const turn = family.find(one => one.turn === id)
  const what = JSON.stringify(id.slice(0, 64))
  return turn ? E.right({ turn, family }) : E.left(failure('invalid_request', `There is no turn ${what} here.`))
}

/** The operator may end any turn, and a turn those that were made on its behalf. Without a secret all are alike. */
const mayCancel =
  (caller: Caller) =>
  (meant: Meant): E.Either<Failure, Meant> => {
    if (caller.kind !== 'turn' || ancestorsOf(meant).includes(caller.proved.turn)) return E.right(meant)
    const { instance } = caller.proved
    return E.left(
      failure('peer_not_allowed', `This turn token of ${instance} ends only turns that its own turn has asked for.`),
    )
  }

const end =
  (bus: Bus, caller: Caller, unlessWaitedFor: boolean) =>
  (meant: Meant): TE.TaskEither<Failure, string> =>
  async () => {
    const { host } = bus
    const { turn } = meant
    if (turn.state === 'done') return E.right(`${named(turn)} was over already (${turn.outcome}).`)
    const live = host.live.get(turn.turn)
    // That whoever asks has hung up itself may be heard only after this.
    if (unlessWaitedFor && live?.waitedFor?.()) await pause(lookEveryMs)
    if (unlessWaitedFor && live?.waitedFor?.()) return E.right(`${named(turn)} goes on: another waits for it.`)
    const elsewhere = live === undefined && turn.owner !== host.owner
    if (elsewhere && turn.instance !== bus.instance.name) return E.left(askIts(turn))
    const by = caller.kind === 'turn' ? `turn ${caller.proved.turn} of ${caller.proved.instance}` : 'the operator'
    host.log('cancel', { turn: turn.turn, instance: turn.instance, by })
    // Of a host that was relieved: it looks there, and ends it.
    const asked = elsewhere ? await host.ledger.askToEnd(turn.turn, by)() : E.right(undefined)
    if (E.isLeft(asked)) return asked
    live?.end(cancelledBy(by))
    await live?.over
    return whatEnded(host, meant)
  }

export const cancelledBy = (by: string): Failure => failure('cancelled', `The turn was cancelled by ${by}.`)

const askIts = ({ turn, instance }: Relative): Failure =>
  failure('invalid_request', `Turn ${turn} is none of this process: ask ${instance}, which runs it.`)

/** What it delegated ends with it, here at once, in other processes as soon as they see their caller gone. */
const whatEnded = async (host: Host, { turn, family }: Meant): Promise<E.Either<Failure, string>> => {
  const under = new Set(openUnder(turn, family).map(one => one.turn))
  const waitedMs = stopwatch()
  for (;;) {
    const looked = await host.ledger.family(turn.turn)()
    if (E.isLeft(looked)) return looked
    const still = openUnder(turn, looked.right).concat(
      looked.right.filter(one => one.turn === turn.turn && isOpen(one)),
    )
    for (const one of still) if (one.turn !== turn.turn) under.add(one.turn)
    if (still.length === 0 || waitedMs() >= longestWaitMs)
      return E.right(sayEnded(turn, looked.right, under.size, still))
    await pause(lookEveryMs)
  }
}

// What is told to end may take its grace; a host that is stuck is not waited for.
const longestWaitMs = 5000
const lookEveryMs = 50

const sayEnded = (before: Relative, family: readonly Relative[], under: number, still: readonly Relative[]): string => {
  const now = family.find(one => one.turn === before.turn)
  // A talk that never ran has left no row.
  const what =
    now === undefined
      ? 'has left the line'
      : isOpen(now)
        ? 'is told to end'
        : now.outcome === 'success'
          ? 'had just finished'
          : 'was ended'
  const turns = under === 0 ? '' : `, with ${under === 1 ? 'the turn' : `the ${under} turns`} under it`
  const left = still.map(named).join(', ')
  return `${named(before)} ${what}${turns}.${left && ` Still ending: ${left}.`}`
}

const isOpen = ({ state }: Relative): boolean => state !== 'done'

const named = ({ turn, instance }: Relative): string => `Turn ${turn} of ${instance}`

const ancestorsOf = ({ turn, family }: Meant): readonly string[] => {
  const parents = new Map(family.map(one => [one.turn, one.parent]))
  const ancestors: string[] = []
  for (let at = turn.parent; at !== undefined && !ancestors.includes(at); at = parents.get(at)) ancestors.push(at)
  return ancestors
}

/** Those of its descendants that are not over. */
const openUnder = (turn: Relative, family: readonly Relative[]): readonly Relative[] =>
  family.filter(one => isOpen(one) && ancestorsOf({ turn: one, family }).includes(turn.turn))
