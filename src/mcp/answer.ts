import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import { type Failure, failure, oneLine } from '../protocol/failure.ts'
import type { Errand, Errands } from './errands.ts'
import { sayKnown } from './known.ts'
import { type Said, say, sayEnvelope, sayFailure, sayStill } from './said.ts'
import type { Call } from './tools.ts'

/** What a call brings along besides its arguments. */
export interface Asking {
  /** Aborted when the client takes the call back. */
  readonly signal: AbortSignal
  /** Tells how far it is; absent where the client did not ask for that. */
  readonly tell?: (message: string) => void
}

/** What the calls of one connection share. */
export interface Desk {
  readonly errands: Errands
  readonly instances: TE.TaskEither<Failure, string>
  readonly now: () => number
  /** How often a client that asked for it is told how far an errand is. */
  readonly beatMs: number
  /** How long a call takes at most where the client did not: many give one up after a minute, and say so to nobody. */
  readonly patienceMs: number
}

/** How long a refusal may take to be known before an errand counts as taken. */
const takenMs = 2000

/** Does what a call asks for. Never rejects. */
export const answer = async (desk: Desk, call: Call, asking: Asking): Promise<Said> => {
  switch (call.tool) {
    case 'instances': {
      const said = await desk.instances()
      return E.isLeft(said) ? sayFailure(said.left) : say(said.right)
    }
    case 'delegate': {
      const errand = desk.errands.start(call.wish)
      // Whoever takes the call back does not know its id.
      asking.signal.addEventListener('abort', errand.cancel, { once: true })
      return awaited(desk, errand, asking, undefined)
    }
    case 'delegate_later': {
      const errand = desk.errands.start(call.wish)
      await settled(errand, takenMs, asking.signal, () => errand.known().stage !== 'sent')
      return errand.over()?.success === false
        ? outcomeOf(desk, errand)
        : say(`${errand.name} is on it. Collect the answer by the id: ${errand.id}`)
    }
    case 'collect':
      return withErrand(desk, call.id, errand => awaited(desk, errand, asking, call.waitMs))
    case 'cancel':
      return withErrand(desk, call.id, async errand => {
        if (errand.over() !== undefined) return say(`${errand.id} was over already. Its answer can be collected.`)
        const known = sayKnown(errand.name, errand.known(), desk.now() - errand.startedAtMs)
        errand.cancel()
        await errand.reply
        return say(`Cancelled ${errand.id}. Until then: ${known}`)
      })
  }
}

const withErrand = (desk: Desk, id: string, use: (errand: Errand) => Promise<Said>): Promise<Said> | Said => {
  const errand = desk.errands.find(id)
  if (errand !== undefined) return use(errand)
  const open = desk.errands.open().map(({ id }) => id)
  const others = open.length === 0 ? 'Nothing is running.' : `Running: ${open.join(', ')}.`
  return sayFailure(failure('invalid_request', `There is no errand "${oneLine(id)}". ${others}`))
}

const awaited = async (desk: Desk, errand: Errand, asking: Asking, waitMs: number | undefined): Promise<Said> => {
  const longestMs = asking.tell === undefined ? desk.patienceMs : Number.POSITIVE_INFINITY
  const stop = beats(desk, errand, asking)
  await settled(errand, Math.min(waitMs ?? longestMs, longestMs), asking.signal)
  stop()
  return outcomeOf(desk, errand)
}

const outcomeOf = ({ now }: Desk, errand: Errand): Said => {
  const envelope = errand.over()
  return envelope === undefined ? sayStill(errand, now()) : sayEnvelope(envelope)
}

/** Until it is over, so much time went by, nobody waits any more, or enough is known. */
const settled = (errand: Errand, waitMs: number, signal: AbortSignal, enough = () => false): Promise<void> =>
  new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      off()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = Number.isFinite(waitMs) ? setTimeout(end, waitMs) : undefined
    const off = errand.watch(() => {
      if (enough()) end()
    })
    if (signal.aborted) return end()
    signal.addEventListener('abort', end, { once: true })
    void errand.reply.then(end)
  })

/** Tells how far it is each time that it does something else, but not oftener than this, and in every silence. */
const soonestMs = 1000

const beats = ({ beatMs, now }: Desk, errand: Errand, { tell }: Asking): (() => void) => {
  if (tell === undefined) return () => {}
  let toldAtMs = Number.NEGATIVE_INFINITY
  const beat = () => {
    toldAtMs = now()
    tell(sayKnown(errand.name, errand.known(), toldAtMs - errand.startedAtMs))
  }
  const timer = setInterval(beat, beatMs)
  const off = errand.watch(() => {
    if (now() - toldAtMs >= soonestMs) beat()
  })
  return () => {
    clearInterval(timer)
    off()
  }
}
