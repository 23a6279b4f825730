import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import * as t from 'io-ts/lib/index.js'
import { loadEngine } from '../engine/load.ts'
import type { Bus } from '../launch/script.ts'
import type { Site } from '../launch/site.ts'
import type { Envelope, FailureEnvelope } from '../protocol/envelope.ts'
import { failure } from '../protocol/failure.ts'
import { checkRequest, countFromOne, instanceName, text, type WorkOptions, workOptions } from './options.ts'
import { failed, openPiece, type Piece, type Step } from './piece.ts'
import { digestOf } from './record.ts'
import { siteOfBus } from './site-of-bus.ts'
import { answerAgain, judgeAgain, judgePrompt, type Verdict, verdictIn } from './verdict.ts'

/** What is to be answered, by whom, and who judges it. */
export interface VerifyRequest extends WorkOptions {
  /** Not blank. */
  readonly prompt: string
  /** The instance that answers. */
  readonly by: string
  /** The instance that judges; another one, or the same in a session of its own. */
  readonly judge: string
  /** What a good answer is, in words for the judge. Default: it does what was asked, and is right. */
  readonly criteria?: string
  /** Answers at most, 1 to 1000; each is judged. Default: 3. */
  readonly atMost?: number
}

/** What became of an answer and its judging. */
export interface Verified {
  /** The last answer passed. */
  readonly passed: boolean
  /** The last answer, whether it passed or not; `''` where there is none. */
  readonly answer: string
  /** One for each answer that was judged, in order. */
  readonly verdicts: readonly Verdict[]
  /** Every talk, in order: an answer, its judging, the next answer … */
  readonly envelopes: readonly Envelope[]
  /** Set where it could not go on: a talk that failed, or a judge that twice gave no verdict (`invalid_response`). */
  readonly failure?: FailureEnvelope
  /** Of the tree of its turns (`errand log ROOT`); absent inside a turn, and where the work could not begin. */
  readonly root?: string
  /** US dollars that all of it has cost, with what was delegated. */
  readonly costUsd: number
}

/**
 * Has one instance answer and another judge, and sends the answer back with the judge's reason while it fails, `atMost` times
 * in all: on one thread where the answering engine keeps sessions, else with the earlier answer quoted. The verdict is a JSON
 * object that the judge is asked for; one that gives none is asked once more. Rejects with a `TypeError` of one sentence for
 * wrong arguments, and for nothing else.
 */
export const verify = async (bus: Bus, request: VerifyRequest): Promise<Verified> => {
  const site = siteOfBus(bus)
  checkRequest('verify', verifyRequest, request)
  return verifyAt(site, request)()
}

/** The same for whoever has its request. */
export const verifyAt =
  (site: Site, request: VerifyRequest): T.Task<Verified> =>
  async () => {
    const { prompt, by, judge, criteria = '' } = request
    const steps = [
      { to: by, digest: digestOf(prompt) },
      { to: judge, digest: digestOf(criteria) },
    ]
    const piece = await openPiece(site, { kind: 'verify', steps }, request)()
    if (E.isLeft(piece)) {
      const refused = failed(piece.left, by)
      return { passed: false, answer: '', verdicts: [], envelopes: [refused], failure: refused, costUsd: 0 }
    }
    const { root, end } = piece.right
    const outcome = await rounds(piece.right, request, await keepsSessions(site, by))
    const costUsd = await end(outcome.failure === undefined)
    return { ...outcome, ...(root === undefined ? {} : { root }), costUsd }
  }

const rounds = async (
  piece: Piece,
  { prompt, by, judge, criteria, atMost = 3 }: VerifyRequest,
  sessions: boolean,
): Promise<Omit<Verified, 'root' | 'costUsd'>> => {
  const envelopes: Envelope[] = []
  const verdicts: Verdict[] = []
  let answer = ''
  // Three places for each round, so that a step keeps its own whatever becomes of the others.
  const ask = async (step: Step): Promise<Envelope> => {
    const envelope = await piece.ask(step)
    envelopes.push(envelope)
    return envelope
  }
  const judged = async (at: number): Promise<E.Either<FailureEnvelope, Verdict>> => {
    const asked = judgePrompt(prompt, answer, criteria)
    const first = await ask({ at, to: judge, prompt: asked })
    if (!first.success) return E.left(first)
    const verdict = verdictIn(first.text)
    if (E.isRight(verdict)) return verdict
    const second = await ask({ at: at + 1, to: judge, prompt: judgeAgain(asked, verdict.left), isSound: hasVerdict })
    if (!second.success) return E.left(second)
    const other = verdictIn(second.text)
    return E.isRight(other) ? other : E.left(noVerdict(judge, other.left))
  }

  const thread = sessions ? { thread: `verify/${piece.id}` } : {}
  for (let round = 0; round < atMost; round += 1) {
    const last = verdicts.at(-1)
    const asked = last === undefined ? prompt : answerAgain(prompt, answer, last, !sessions)
    const answered = await ask({ at: round * 3, to: by, prompt: asked, ...thread })
    if (!answered.success) return { passed: false, answer, verdicts, envelopes, failure: answered }
    answer = answered.text
    const verdict = await judged(round * 3 + 1)
    if (E.isLeft(verdict)) return { passed: false, answer, verdicts, envelopes, failure: verdict.left }
    verdicts.push(verdict.right)
    if (verdict.right.verdict === 'pass') return { passed: true, answer, verdicts, envelopes }
  }
  return { passed: false, answer, verdicts, envelopes }
}

const hasVerdict = (said: string): boolean => E.isRight(verdictIn(said))

const noVerdict = (judge: string, why: string): FailureEnvelope =>
  failed(failure('invalid_response', `${judge} was asked twice for its verdict and gave none: ${why}.`), judge)

const keepsSessions = async ({ state: { config } }: Site, name: string): Promise<boolean> => {
  const instance = config.instances.get(name)
  const engine = instance && (await loadEngine(instance.engine, config.folder)())
  return engine !== undefined && E.isRight(engine) && engine.right.resumes === true
}

const verifyRequest = t.intersection([
  t.type({ prompt: text, by: instanceName, judge: instanceName }),
  workOptions,
  t.partial({ criteria: text, atMost: countFromOne }),
])
