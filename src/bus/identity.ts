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
  const random = randomBytes(40).toString('hex')
  const token = random.slice(16)
  return { turn: random.slice(0, 16), token, tokenDigest: tokenDigestOf(token) }
}

/** What a turn's row keeps of its token: SHA-256, as hex. */
export const tokenDigestOf = (token: string): string => sha256(token).toString('hex')

/** Who presents these `Authorization` values; `auth_failed` tells nothing but that. */
export type Authenticate = (authorization: readonly string[]) => TE.TaskEither<Failure, Caller>

export const authenticate = (host: Host): Authenticate => {
  const secret = host.secret === undefined ? undefined : sha256(host.secret)
  const nobody: E.Either<Failure, Caller> = secret === undefined ? E.right({ kind: 'claim' }) : E.left(refused)
  return authorization => {
    const bearer = authorization.length === 1 ? /^Bearer +(\S+)$/i.exec(authorization[0] ?? '')?.[1] : undefined
    if (bearer === undefined) return TE.fromEither(nobody)
    if (secret !== undefined && timingSafeEqual(sha256(bearer), secret)) return TE.right({ kind: 'operator' })
    // Only what has the form of a token costs a look into the store.
    if (!/^[0-9a-f]{64}$/.test(bearer)) return TE.fromEither(nobody)
    return pipe(
      host.ledger.proved(tokenDigestOf(bearer)),
      TE.chainTaskK(proved => async () => (proved && (await host.ownerLives(proved.owner)) ? proved : undefined)),
      TE.chainEitherK(proved => (proved === undefined ? nobody : E.right({ kind: 'turn', proved }))),
    )
  }
}

const refused = failure(
  'auth_failed',
  'The bus secret is missing or wrong. Send it in the header Authorization as a bearer token, or talk by the errand command.',
)

const sha256 = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()
