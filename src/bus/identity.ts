import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { ProvedTurn } from '../budget/ledger.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Host } from './host.ts'

/** The reserved name of whoever holds the bus secret. */
export const operator = 'operator'

/** Who talks: the operator by the secret, a turn by its token, or, on a bus without a secret, anyone by claim. */
export type Caller =
  | { readonly kind: 'operator' }
  | { readonly kind: 'turn'; readonly proved: ProvedTurn }
  | { readonly kind: 'claim' }

/** A new turn: its id (which is its mark), the token that its process gets, and the digest that its row keeps. */
export interface NewTurn {
  readonly turn: string
  readonly token: string
  readonly tokenDigest: string
}

export const newTurn = (): NewTurn => {
  const token = randomBytes(32).toString('hex')
  return { turn: randomBytes(8).toString('hex'), token, tokenDigest: tokenDigestOf(token) }
}

/** What a turn's row keeps of its token: SHA-256, as hex. */
export const tokenDigestOf = (token: string): string => sha256(token).toString('hex')

/** Who presents this `Authorization`; `auth_failed` tells nothing but that. */
export const authenticate =
  (host: Host) =>
  (authorization: readonly string[]): TE.TaskEither<Failure, Caller> => {
    const bearer = authorization.length === 1 ? /^Bearer +(\S+)$/i.exec(authorization[0] ?? '')?.[1] : undefined
    if (host.secret !== undefined) {
      if (bearer === undefined) return TE.left(refused)
      if (timingSafeEqual(sha256(bearer), sha256(host.secret))) return TE.right({ kind: 'operator' })
    }
    const nobody: E.Either<Failure, Caller> = host.secret === undefined ? E.right({ kind: 'claim' }) : E.left(refused)
    // Only what has the form of a token costs a look into the store.
    if (bearer === undefined || !/^[0-9a-f]{64}$/.test(bearer)) return TE.fromEither(nobody)
    return pipe(
      host.ledger.proved(tokenDigestOf(bearer)),
      TE.chainTaskK(proved => async () => (proved && (await host.ownerLives(proved.owner)) ? proved : undefined)),
      TE.chainEitherK(proved => (proved === undefined ? nobody : E.right({ kind: 'turn', proved }))),
    )
  }

const refused = failure(
  'auth_failed',
  'The bus secret is missing or wrong. Send it as "Authorization: Bearer <secret>", or talk by the errand command.',
)

const sha256 = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()
