import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import type { Mismatch } from '../protocol/decode.ts'
import { sayMismatch } from '../protocol/decode.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'

type Members = Readonly<Record<string, t.Mixed>>

/** What a strict object decodes to: every member may be missing but those of `required`. */
export type Strict<M extends Members, K extends keyof M> = { readonly [key in K]: t.TypeOf<M[key]> } & {
  readonly [key in Exclude<keyof M, K>]?: t.TypeOf<M[key]>
}

/** An object with these members and no others: a key that nobody reads is a mistake of whoever wrote it. */
export const strict = <M extends Members, K extends keyof M & string = never>(
  members: M,
  required: readonly K[],
  refuse: (value: Strict<M, K>, at: (key: string) => t.Context) => t.Errors = () => [],
): t.Type<Strict<M, K>, Strict<M, K>, unknown> => {
  const is = (value: unknown): value is Strict<M, K> => E.isRight(validate(value, []))
  const isComplete = (value: unknown): value is Strict<M, K> => isObject(value)

  const validate: t.Validate<unknown, Strict<M, K>> = (value, context) => {
    if (!isObject(value)) return t.failure(value, context, 'an object')
    const at = (key: string): t.Context => [...context, { key, type: members[key] ?? t.unknown, actual: value }]
    const errors: t.Errors = []
    const decoded: Record<string, unknown> = {}
    for (const [key, member] of Object.entries(value)) {
      // JSON knows none; in an object of a script it is a member left out.
      if (member === undefined) continue
      const codec = Object.hasOwn(members, key) ? members[key] : undefined
      if (codec === undefined) {
        errors.push({ value: member, context: at(key), message: unknownKey(key, members) })
        continue
      }
      const told = codec.validate(member, at(key))
      errors.push(...leftOf(told))
      if (E.isRight(told)) decoded[key] = told.right
    }
    for (const key of required) {
      if (!Object.hasOwn(value, key) || value[key] === undefined) {
        errors.push({ value: undefined, context: at(key), message: members[key]?.name ?? 'there' })
      }
    }
    if (errors.length > 0 || !isComplete(decoded)) return t.failures(errors)
    const refused = refuse(decoded, at)
    return refused.length > 0 ? t.failures([...refused]) : t.success(decoded)
  }
  return new t.Type('an object', is, validate, a => a)
}

/** As `sayMismatch`, and a key that nobody knows reads as such. */
export const sayMistake = (mismatch: Mismatch): string =>
  mismatch.expected.startsWith(noSuchKey) ? `${mismatch.path}: ${mismatch.expected}` : `${sayMismatch(mismatch)}.`

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const leftOf = <A>(validation: t.Validation<A>): t.Errors => (E.isLeft(validation) ? validation.left : [])

const noSuchKey = 'there is no such key.'

const unknownKey = (key: string, members: Members): string =>
  `${noSuchKey}${didYouMean(key, Object.keys(members)) || ` Known here: ${Object.keys(members).join(', ')}.`}`
