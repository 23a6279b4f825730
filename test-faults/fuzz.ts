import type { randomOf } from '../test/budget/random.ts'

type Random = ReturnType<typeof randomOf>

const scraps = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\',
    '\\u0000',
    '\\ud800',
    '\u0000',
    '\ufeff',
    'é',
    '😀',
    '\\',
    '/',
    '..',
    '%00',
  ],
  ...[
    'null',
    'true',
    '-1',
    '1e999',
    '0.5',
    '9007199254740993',
    '"__proto__":',
    '"constructor":',
    '"prompt":',
    '"depth":',
    '"fromInstance":',
  ],
  ...[
    '[[[[[[[[[[[[[[[[',
    '{"a":{"a":{"a":',
    '\r\n',
    '\n',
    '\t',
    ' ',
    '"toString"',
    '"ext":{"thread":1},',
    '"protocolVersion":2,',
  ],
]

const sound =
  '{"fromInstance":"operator","prompt":"hi","depth":1,"protocolVersion":1,"capabilities":["structured-errors"]}'

/** A body that was sound, with some of it torn, doubled, turned about or made of anything at all. */
const bodyOf = ({ below, pick }: Random): Buffer => {
  if (below(20) === 0) return Buffer.from(Array.from({ length: below(300) }, () => below(256)))
  if (below(200) === 0) return Buffer.from(`${'['.repeat(20_000)}${']'.repeat(below(20_000))}`)
  let text = sound
  for (let times = below(5); times > 0; times -= 1) {
    const at = below(text.length + 1)
    const to = Math.min(text.length, at + below(12))
    text = pick([
      () => text.slice(0, at) + pick(scraps) + text.slice(at),
      () => text.slice(0, at) + text.slice(to),
      () => text.slice(0, to) + text.slice(at),
      () => text.slice(0, at),
      () => text.slice(0, at) + text.slice(at, to).toUpperCase() + text.slice(to),
    ])()
  }
  const bytes = Buffer.from(text)
  if (bytes.length > 0 && below(8) === 0) bytes[below(bytes.length)] = below(256)
  return bytes
}

const odd = [
  '',
  ' ',
  'x',
  '\t',
  ',',
  ';',
  '=',
  '"',
  '0',
  '-1',
  '1e3',
  '%',
  'é',
  '\u0001',
  '\u007f',
  '*/*',
  'gzip',
  'chunked',
  'identity',
  'Bearer',
  'Basic eA==',
  '🦆',
  'a'.repeat(300),
]
const names = [
  ...[
    'Content-Type',
    'Content-Encoding',
    'Transfer-Encoding',
    'Authorization',
    'Host',
    'Accept',
    'Expect',
    'Upgrade',
    'Cookie',
    'Range',
  ],
  ...[
    'Idempotency-Key',
    'X',
    'x y',
    'x\u0000',
    '',
    ':',
    'Sec-Fetch-Site',
    'Origin',
    'Content-Length',
    'TE',
    'Trailer',
    '__proto__',
    'constructor',
  ],
]

/** A request whose body is as long as it says, or which says nothing at all that could be understood. */
export const requestOf = (random: Random, secret: string): Buffer => {
  const { below, pick } = random
  const body = bodyOf(random)
  const method =
    below(30) === 0 ? pick(['GET', 'PUT', 'post', 'POST POST', '', 'CONNECT', 'OPTIONS', '\u0000']) : 'POST'
  const path =
    below(30) === 0
      ? pick([
          '/',
          '*',
          '/api/health',
          '/api/talk?x',
          '/api/talk/',
          '//',
          '/api/turns/%zz/cancel',
          'http://evil/api/talk',
          '/a b',
          '/\u00ff',
        ])
      : '/api/talk'
  const version = below(100) === 0 ? pick(['HTTP/1.0', 'HTTP/2', 'HTTP/0.9', 'http/1.1', '']) : 'HTTP/1.1'
  const headers = [
    'Host: localhost',
    `Authorization: Bearer ${below(20) === 0 ? pick(odd) : secret}`,
    `Content-Type: ${below(20) === 0 ? pick(odd) : 'application/json'}`,
    `Content-Length: ${body.length}`,
  ]
  for (let times = below(4); times > 0; times -= 1) {
    const name = pick(names)
    const value = pick(odd)
    // A length that is too great is not answered before its body should have come.
    if (name === 'Content-Length' && /\d/.test(value)) continue
    // Chunks that never begin, as well; and who waits to be told to go on is told so first.
    if (name === 'Transfer-Encoding' && value === 'chunked') continue
    headers.splice(below(headers.length + 1), 0, `${name}: ${value}`)
  }
  const head = `${method} ${path} ${version}\r\n${headers.join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, below(2) === 0 ? 'utf8' : 'latin1'), body])
}
