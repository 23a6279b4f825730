import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'

/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A value that was refused: where it stands, what was expected there, what was found. */
export interface Mismatch {
  /** `instances.worker.budget.usd`; empty for the whole. */
  readonly path: string
  readonly expected: string
  readonly found: string
}

/** The one way in for outside data: a codec, and all that does not fit it. */
export const decode = <A>(codec: t.Decoder<unknown, A>, value: unknown): E.Either<readonly Mismatch[], A> =>
  pipe(codec.decode(value), E.mapLeft(mismatches))

/** `depth must be a non-negative integer, not 0.5` */
export const sayMismatch = ({ path, expected, found }: Mismatch): string =>
  `${path || 'it'} must be ${expected}, not ${found}`

/** A leaf: a guard, named by what it expects, so that a refusal can say it ("a non-empty string"). */
export const leaf = <A>(expected: string, is: (value: unknown) => value is A): t.Type<A, A, unknown> =>
  new t.Type<A, A, unknown>(
    expected,
    is,
    (value, context) => (is(value) ? t.success(value) : t.failure(value, context)),
    a => a,
  )

const mismatches = (errors: t.Errors): readonly Mismatch[] => {
  const all = errors.map(({ context, value, message }) => ({
    path: pathOf(context),
    expected: message ?? expectedBy(context.at(-1)?.type),
    found: show(value),
  }))
  return [...new Map(all.map(mismatch => [`${mismatch.path}\n${mismatch.expected}`, mismatch])).values()]
}

const expectedBy = (type: t.Decoder<unknown, unknown> | undefined): string => {
  const isObject =
    type instanceof t.InterfaceType ||
    type instanceof t.PartialType ||
    type instanceof t.IntersectionType ||
    type instanceof t.ExactType ||
    type instanceof t.DictionaryType
  if (isObject) return 'an object'
  return type instanceof t.ArrayType ? 'a list' : (type?.name ?? 'something else')
}

// io-ts puts the index of a union's or an intersection's member on the path; people know no such key.
const pathOf = (context: t.Context): string =>
  context
    .filter((entry, at) => entry.key !== '' && !isMember(context[at - 1]))
    .map(entry => entry.key)
    .join('.')

const isMember = (parent: t.ContextEntry | undefined): boolean =>
  parent !== undefined && (parent.type instanceof t.IntersectionType || parent.type instanceof t.UnionType)

const show = (value: unknown): string => {
  if (value === undefined) return 'missing'
  if (typeof value === 'string' && value.trim() === '') return 'an empty string'
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value) ?? typeof value
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
