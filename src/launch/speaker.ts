import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { operator, tokenDigestOf } from '../bus/identity.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { State } from './state.ts'

/** As whom a talk is sent. */
export interface Speaker {
  readonly fromInstance: string
  /** The caller's own. */
  readonly depth: number
  readonly bearer: string | undefined
}

/** Outside of a turn whoever the caller says, with the bus secret; inside one the turn, with its token, and nobody else. */
export const speakerOf = (
  { inside, secret, ledger }: Pick<State, 'inside' | 'secret' | 'ledger'>,
  said: { readonly from?: string; readonly depth?: number },
): TE.TaskEither<Failure, Speaker> => {
  if (inside === undefined) {
    return TE.right({ fromInstance: said.from ?? operator, depth: said.depth ?? 0, bearer: secret })
  }
  const { token } = inside
  if (token === undefined) return TE.left(noToken)
  return pipe(
    ledger.proved(tokenDigestOf(token)),
    TE.chainEitherK(turn => (turn === undefined ? E.left(noToken) : E.right(turn))),
    TE.chainEitherK(({ instance, depth }) => {
      if (said.from !== undefined && said.from !== instance) {
        return E.left(failure('peer_not_allowed', `This turn of ${instance} cannot speak as ${said.from}.`))
      }
      if (said.depth !== undefined && said.depth !== depth) {
        return E.left(failure('invalid_request', `This turn has depth ${depth}, not ${said.depth}.`))
      }
      return E.right({ fromInstance: instance, depth, bearer: token })
    }),
  )
}

const noToken = failure('auth_failed', 'The turn that this runs inside of has ended, or its token did not come along.')
