import { connect } from 'node:net'
import test from 'ava'
import { createBus } from '../fixtures/bus.ts'
import { jsonHeaders, send, sendRaw, talkBody } from '../fixtures/http.ts'

const names = [
  ...['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST', 'LocalHost'],
  ...['evil.example', '127.0.0.2', '127.1', '0.0.0.0', '0', '2130706433', '0x7f000001', '017700000001', '0177.0.0.1'],
  ...['::1', '[::]', '[::2]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::1%25lo]', 'localhost6', 'ip6-localhost'],
  ...['localhost.localdomain', 'lоcalhost', 'ⓛocalhost', '127。0。0。1', 'xn--localhost', '10.0.0.1', '192.168.0.1'],
]
const dressed: readonly ((name: string, port: number) => string)[] = [
  name => name,
  (name, port) => `${name}:${port}`,
  (name, port) => `${name}:${port + 1}`,
  (name, port) => `${name}:0${port}`,
  name => `${name}:`,
  name => `${name}:80`,
  name => `${name}.`,
  name => `${name}.evil.example`,
  name => `evil.example.${name}`,
  name => `evil.example@${name}`,
  name => `${name}@evil.example`,
  name => `http://${name}`,
  name => `${name}/`,
  name => `${name}#`,
  name => `${name},${name}`,
  name => `${name} evil.example`,
  name => `${name}\u0000`,
]
const isOurs = (host: string, port: number): boolean =>
  ['127.0.0.1', 'localhost', '[::1]'].some(one => [one, `${one}:${port}`].includes(host.toLowerCase()))

test('of some 500 spellings of Host only this machine, with no port or its own, is served; nothing else is even read', async t => {
  const bus = await createBus()
  const { port } = await bus.serve('worker', {})
  const body = talkBody()
  const hosts = [...new Set(names.flatMap(name => dressed.map(dress => dress(name, port))))].filter(
    host => !isOurs(host, port),
  )
  t.true(hosts.length >= 400)
  const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
  for (const host of hosts) {
    const head = `POST /api/talk HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n`
    const answer = await sendRaw(
      port,
      `${bytes(head)}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
    t.regex(answer, /^HTTP\/1\.1 400 [\s\S]*"errorCode":"invalid_request"/, host)
    t.notRegex(answer, /access-control/i, host)
  }
  t.deepEqual(await bus.calls(), [])
  await bus.close()
})

const origins = [
  'null',
  'https://evil.example',
  'http://localhost',
  'http://127.0.0.1',
  'file://',
  '',
  'chrome-extension://abc',
  'about:blank',
]
const sites = ['cross-site', 'same-site', 'same-origin', 'NONE', 'none, none', 'cross-site, none', '', 'x']
// What a page of another origin can send without a preflight.
const simpleTypes = [
  'text/plain',
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  null,
]

test('no page gets in: any Origin, any Sec-Fetch-Site but "none", any simple cross-site POST, with the secret or without', async t => {
  const bus = await createBus()
  const { port } = await bus.serve('worker', {})
  const open = await createBus({ secret: undefined, folder: bus.folder })
  const claims = await open.serve('claims', {})
  let asked = 0
  const refused = async (headers: Readonly<Record<string, string | null>>, at: number): Promise<void> => {
    asked += 1
    const {
      status,
      json,
      headers: back,
    } = await send(at, { headers: { ...jsonHeaders(), ...headers }, body: talkBody() })
    t.is(status, 400, JSON.stringify(headers))
    t.is(Reflect.get(Object(json), 'errorCode'), 'invalid_request')
    t.deepEqual(
      Object.keys(back).filter(name => name.startsWith('access-control')),
      [],
    )
  }
  for (const at of [port, claims.port]) {
    for (const origin of origins) await refused({ Origin: origin }, at)
    for (const site of sites) await refused({ 'Sec-Fetch-Site': site }, at)
    for (const type of simpleTypes) {
      await refused({ 'Content-Type': type }, at)
      for (const origin of origins)
        await refused({ 'Content-Type': type, Origin: origin, 'Sec-Fetch-Mode': 'no-cors' }, at)
    }
    const preflight = await send(at, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://evil.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization',
      },
    })
    t.deepEqual(
      Object.keys(preflight.headers).filter(name => name.startsWith('access-control')),
      [],
    )
    t.true(preflight.status >= 400)
  }
  t.true(asked > 100)
  t.deepEqual(await bus.calls(), [])
  await open.close()
  await bus.close()
})

test('names with path tricks, and keys of every prototype, are names that nobody has', async t => {
  const bus = await createBus()
  const { port } = await bus.serve('worker', { peers: ['reviewer'] })
  const tricks = [
    '../reviewer',
    'reviewer/../reviewer',
    '/etc/passwd',
    'reviewer\u0000',
    'reviewer ',
    'REVIEWER',
    'reviewer%00',
    '*',
    '..',
    '~',
  ]
  for (const fromInstance of [
    ...tricks,
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'reviewer,operator',
  ]) {
    const { json } = await send(port, { headers: jsonHeaders(), body: talkBody({ fromInstance }) })
    t.is(Reflect.get(Object(json), 'errorCode'), 'peer_not_allowed', fromInstance)
  }
  for (const path of [
    '/api/turns/../talk',
    '/api/turns/%2e%2e/cancel',
    '/api/turns/..%2f..%2fsecret/cancel',
    '//api/talk',
    '/api/talk/',
    '/API/talk',
    '/api/talk;x',
    '/api/talk%00',
  ]) {
    const { json, status } = await send(port, { path, headers: jsonHeaders(), body: talkBody() })
    t.true(status === 404 || status === 405, `${path}: ${status}`)
    t.is(Reflect.get(Object(json), 'errorCode'), 'invalid_request', path)
  }
  // The last of two keys of one name counts, as in every JSON of this house; a prototype is a member like any other.
  const twice = '{"fromInstance":"operator","prompt":"x","depth":1,"fromInstance":"stranger"}'
  t.is(
    Reflect.get(Object((await send(port, { headers: jsonHeaders(), body: twice })).json), 'errorCode'),
    'peer_not_allowed',
  )
  const proto = '{"__proto__":{"fromInstance":"operator","prompt":"x","depth":1}}'
  t.is(
    Reflect.get(Object((await send(port, { headers: jsonHeaders(), body: proto })).json), 'errorCode'),
    'invalid_request',
  )
  t.is(Reflect.get({}, 'fromInstance'), undefined)
  t.deepEqual(await bus.calls(), [])
  await bus.close()
})

test('who says nothing, or sends its head or its body byte by byte, is cut within 10 s; who asks meanwhile is served', async t => {
  t.timeout(60_000)
  const bus = await createBus()
  const { port } = await bus.serve('worker', {})
  const begun = performance.now()
  const head = 'POST /api/talk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const beginnings = ['', head, `${head}Authorization: Bearer k\r\nContent-Length: 1000\r\n\r\n`]
  const slow = Array.from({ length: 60 }, (_, nth) => {
    const beginning = beginnings[nth % beginnings.length] ?? ''
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('data', () => undefined)
    socket.write(beginning)
    const drip = setInterval(() => socket.write(beginning === '' ? '' : 'a'), 300)
    return new Promise<number>(resolve =>
      socket.once('close', () => {
        clearInterval(drip)
        resolve(performance.now() - begun)
      }),
    )
  })
  t.is((await send(port, { headers: jsonHeaders(), body: talkBody() })).status, 200)
  const cutMs = await Promise.all(slow)
  t.true(Math.max(...cutMs) < 10_000, `${Math.max(...cutMs)} ms`)
  await bus.close()
})
