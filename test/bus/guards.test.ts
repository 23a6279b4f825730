import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { jsonOnly, lengthWithin, loopbackHost, noBrowser, notEncoded, type RequestHead } from '../../src/bus/guards.ts'

type Guard = (head: RequestHead) => E.Either<{ readonly code: string; readonly sentence: string }, RequestHead>

const port = 7400

/** The sentence of its refusal, `undefined` where it lets the head through. */
const refusedBy = (guard: Guard, headers: RequestHead['headers']): string | undefined => {
  const head = { headers, port }
  const passed = guard(head)
  return E.isLeft(passed) ? `${passed.left.code}: ${passed.left.sentence}` : undefined
}

interface Rows {
  readonly guard: Guard
  readonly header: string
  readonly good: readonly (readonly string[] | undefined)[]
  readonly bad: readonly (readonly string[] | undefined)[]
  readonly says: string
}

const hosts = ['127.0.0.1', 'localhost', 'LocalHost', '[::1]']
const rows: Readonly<Record<string, Rows>> = {
  'Host is this machine, with no port or the one of the socket': {
    guard: loopbackHost,
    header: 'host',
    good: hosts.flatMap(host => [[host], [`${host}:${port}`]]),
    bad: [
      ...hosts.flatMap(host => [
        `${host}:7401`,
        `${host}:74`,
        `${host}:74000`,
        `${host}:`,
        `${host}:x`,
        `${host}:x${port}`,
      ]),
      ...hosts.flatMap(host => [`x${host}`, `${host}x`, `${host}.`, ` ${host}`, `${host} `]),
      ...['', '127x0.0.1', '127.0x0.1', '127.0.0x1', '127.0.0.2', '::1', 'evil.example', `:${port}`],
    ].map(host => [host]),
    says: 'invalid_request: The Host header must be 127.0.0.1, localhost or [::1], with no port or with the port of this socket.',
  },
  'there is one Host': {
    guard: loopbackHost,
    header: 'host',
    good: [],
    bad: [undefined, [], ['localhost', 'localhost'], ['localhost', 'evil.example']],
    says: 'invalid_request: A request needs one Host header.',
  },
  'no page has an Origin that is let in': {
    guard: noBrowser,
    header: 'origin',
    good: [undefined, []],
    bad: [['null'], [''], ['http://localhost'], [`http://127.0.0.1:${port}`]],
    says: 'invalid_request: Requests from web pages are refused (Origin, Sec-Fetch-Site).',
  },
  'of Sec-Fetch-Site only "none" is no page': {
    guard: noBrowser,
    header: 'sec-fetch-site',
    good: [undefined, ['none'], ['none', 'none']],
    bad: [['same-origin'], [''], ['NONE'], ['none', 'cross-site'], ['cross-site', 'none']],
    says: 'invalid_request: Requests from web pages are refused (Origin, Sec-Fetch-Site).',
  },
  'a body is JSON, in UTF-8': {
    guard: jsonOnly,
    header: 'content-type',
    good: [
      ...['application/json', 'Application/JSON', ' application/json ', 'application/json;', 'application/json; x=y'],
      ...[
        'application/json; charset=utf-8',
        'application/json;charset=UTF8',
        'application/json; x=y ; charset="utf-8"',
      ],
    ].map(type => [type]),
    bad: [
      undefined,
      [],
      ['application/json', 'application/json'],
      ...[
        ...['', 'text/plain', 'application/jsonp', 'application/json5', 'text/json', 'application/vnd.api+json'],
        ...['application/json; charset=latin1', 'application/json; charset=', 'application/json; charset=xutf-8'],
        ...['application/json; charset=utf-8x', 'application/json; charset=utf-16', 'text/plain; application/json'],
        ...['application/json, text/plain', 'application/json; x=y; charset=latin1'],
      ].map(type => [type]),
    ],
    says: 'invalid_request: The Content-Type must be application/json, in UTF-8.',
  },
  'nothing is inflated': {
    guard: notEncoded,
    header: 'content-encoding',
    good: [undefined, [], ['identity'], ['Identity'], [' identity '], [''], ['identity', 'identity']],
    bad: [['gzip'], ['identity', 'gzip'], ['gzip', 'identity'], ['identity, gzip'], ['xidentity'], ['identityx']],
    says: 'invalid_request: Content-Encoding other than identity is not accepted.',
  },
  'a length is no longer than the limit': {
    guard: lengthWithin(100),
    header: 'content-length',
    good: [undefined, ['0'], ['99'], ['100']],
    bad: [['101'], ['9000000']],
    says: 'request_too_large: The body is larger than 100 bytes (bus.bodyLimit in budgets.json).',
  },
}

for (const [title, { guard, header, good, bad, says }] of Object.entries(rows)) {
  test(`a guard: ${title}`, t => {
    for (const values of good) t.is(refusedBy(guard, { [header]: values }), undefined, JSON.stringify(values))
    for (const values of bad) t.is(refusedBy(guard, { [header]: values }), says, JSON.stringify(values))
  })
}

test('a guard hands on the head that it was given', t => {
  const head = { headers: { host: ['localhost'], 'content-type': ['application/json'] }, port }
  for (const guard of [loopbackHost, noBrowser, jsonOnly, notEncoded, lengthWithin(100)])
    t.deepEqual(guard(head), E.right(head))
})
