import * as E from 'fp-ts/lib/Either.js'
import { type Failure, failure } from '../protocol/failure.ts'

/** What the guards look at: all of a request but its body. Headers by lower-case name, each value on its own. */
export interface RequestHead {
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  /** The port of the socket that it came in by. */
  readonly port: number
}

type Step = E.Either<Failure<'invalid_request' | 'request_too_large'>, RequestHead>

const refuse = (sentence: string): Step => E.left(failure('invalid_request', sentence))

const values = ({ headers }: RequestHead, name: string): readonly string[] => headers[name] ?? []

/** Literally this machine, so that a rebound name is no way in. */
export const loopbackHost = (head: RequestHead): Step => {
  const [host, ...more] = values(head, 'host')
  if (host === undefined || more.length > 0) return refuse('A request needs one Host header.')
  const name = /^(?:127\.0\.0\.1|localhost|\[::1\])(?<port>:\d+)?$/i.exec(host)
  const port = name?.groups?.['port']
  if (name && (port === undefined || port === `:${head.port}`)) return E.right(head)
  return refuse('The Host header must be 127.0.0.1, localhost or [::1], with no port or with the port of this socket.')
}

/** A browser says where its page came from; no page has business here. */
export const noBrowser = (head: RequestHead): Step => {
  const site = values(head, 'sec-fetch-site')
  if (values(head, 'origin').length === 0 && site.every(from => from === 'none')) return E.right(head)
  return refuse('Requests from web pages are refused (Origin, Sec-Fetch-Site).')
}

export const jsonOnly = (head: RequestHead): Step => {
  const [type, ...more] = values(head, 'content-type')
  const [media, ...parameters] = (type ?? '')
    .toLowerCase()
    .split(';')
    .map(part => part.trim())
  const charset = parameters.find(parameter => parameter.startsWith('charset='))?.slice('charset='.length)
  const utf8 = charset === undefined || /^"?utf-?8"?$/.test(charset)
  if (media === 'application/json' && more.length === 0 && utf8) return E.right(head)
  return refuse('The Content-Type must be application/json, in UTF-8.')
}

/** Nothing is inflated. */
export const notEncoded = (head: RequestHead): Step =>
  values(head, 'content-encoding').every(encoding => /^(?:identity)?$/i.test(encoding.trim()))
    ? E.right(head)
    : refuse('Content-Encoding other than identity is not accepted.')

export const lengthWithin =
  (limitBytes: number) =>
  (head: RequestHead): Step =>
    Number(values(head, 'content-length')[0] ?? 0) <= limitBytes ? E.right(head) : E.left(tooLarge(limitBytes))

export const tooLarge = (limitBytes: number): Failure<'request_too_large'> =>
  failure('request_too_large', `The body is larger than ${limitBytes} bytes (bus.bodyLimit in budgets.json).`)
