import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'ava'
import command from '../engines/command.ts'
import { createBus, type InstanceWish, type TestBus } from './fixtures/bus.ts'
import { type Answer, jsonHeaders, type Sending, send, sendRaw, talkBody } from './fixtures/http.ts'

const withWorker = async (
  wish: InstanceWish,
  play: (ask: (sending: Sending) => Promise<Answer>, port: number, bus: TestBus) => Promise<void>,
  secret: string | undefined = 'k',
): Promise<void> => {
  const bus = await createBus({ secret })
  try {
    const { port } = await bus.serve('worker', wish)
    await play(sending => send(port, sending), port, bus)
  } finally {
    await bus.close()
  }
}

const codeOf = ({ json }: Answer): unknown => Reflect.get(Object(json), 'errorCode')
const sentenceOf = ({ json }: Answer): string => String(Reflect.get(Object(json), 'error'))

test('the checks come in the order of the protocol: each fault hides those behind it', async t => {
  const wish: InstanceWish = {
    enabled: false,
    maxDepth: 1,
    peers: [],
    limits: { budget: { microUsd: 0, per: 'total' } },
  }
  await withWorker(wish, async (ask, _port, bus) => {
    const faults = {
      path: '/api/nothing',
      host: 'evil.example',
      origin: 'https://evil.example',
      bearer: 'Bearer wrong',
      type: 'text/plain',
      encoding: 'gzip',
      body: JSON.stringify({ prompt: 'x'.repeat(2 * 1024 * 1024) }),
    }
    type Faults = { readonly [name in keyof typeof faults]: string | null }
    const steps: readonly [mended: Partial<Faults>, code: string, status: number, sentence: RegExp][] = [
      [{}, 'invalid_request', 404, /no such route/],
      [{ path: '/api/talk' }, 'invalid_request', 400, /Host header/],
      [{ host: '127.0.0.1' }, 'invalid_request', 400, /web pages/],
      [{ origin: null }, 'auth_failed', 401, /secret is missing or wrong/],
      [{ bearer: 'Bearer k' }, 'invalid_request', 400, /Content-Type/],
      [{ type: 'application/json' }, 'invalid_request', 400, /Content-Encoding/],
      [{ encoding: null }, 'request_too_large', 413, /larger than 1048576 bytes/],
      [{ body: talkBody({ depth: '9' }) }, 'invalid_request', 400, /depth must be a non-negative integer/],
      [{ body: talkBody({ depth: 9 }) }, 'bus_disabled', 403, /disabled/],
    ]
    let now: Faults = faults
    for (const [mended, code, status, sentence] of steps) {
      now = { ...now, ...mended }
      const answer = await ask({
        path: now.path ?? '',
        body: now.body ?? '',
        headers: {
          Host: now.host,
          Origin: now.origin,
          Authorization: now.bearer,
          'Content-Type': now.type,
          'Content-Encoding': now.encoding,
        },
      })
      t.is(codeOf(answer), code, answer.text)
      t.is(answer.status, status)
      t.regex(sentenceOf(answer), sentence)
      t.like(answer.json, { success: false, text: '', fromInstance: 'worker', protocolVersion: 1 })
    }
    const enabled = await bus.serve('enabled', { ...wish, enabled: true })
    const later: readonly [Record<string, unknown>, string, number][] = [
      [{ depth: 9 }, 'max_depth_exceeded', 403],
      [{ depth: 1, fromInstance: 'enabled' }, 'peer_not_allowed', 403],
      [{ depth: 1, fromInstance: 'stranger' }, 'peer_not_allowed', 403],
      [{ depth: 1, fromInstance: 'operator' }, 'budget_exhausted', 402],
    ]
    for (const [body, code, status] of later) {
      const answer = await send(enabled.port, { headers: jsonHeaders(), body: talkBody(body) })
      t.is(codeOf(answer), code)
      t.is(answer.status, status)
    }
    t.deepEqual(await bus.calls(), [])
  })
})

test('Host is literally this machine, with no port or our own', async t => {
  await withWorker({}, async (ask, port) => {
    const good = [
      '127.0.0.1',
      'localhost',
      'LocalHost',
      '[::1]',
      `127.0.0.1:${port}`,
      `LOCALHOST:${port}`,
      `[::1]:${port}`,
    ]
    const bad = [
      ...[
        'evil.example',
        '127.0.0.1.evil.example',
        'localhost.evil.example',
        '127.0.0.2',
        '0.0.0.0',
        '127.1',
        '2130706433',
      ],
      ...[
        'localhost.',
        '::1',
        '[::2]',
        `127.0.0.1:${port + 1}`,
        `127.0.0.1:0${port}`,
        '127.0.0.1:',
        '',
        '127.0.0.1@evil',
      ],
      ...['user@127.0.0.1', '127.0.0.1/', '127.0.0.1 ,evil', '0x7f.1', '[::ffff:127.0.0.1]', '127.0.0.1#', 'ⓛocalhost'],
    ]
    for (const host of good)
      t.is((await ask({ headers: { ...jsonHeaders(), Host: host }, body: talkBody() })).status, 200, host)
    for (const host of bad) {
      const raw = `GET /api/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      t.regex(
        await sendRaw(port, Buffer.from(raw, 'utf8').toString('latin1')),
        /^HTTP\/1\.1 400 [\s\S]*"invalid_request"/,
        host,
      )
    }
    t.regex(
      await sendRaw(
        port,
        'GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      ),
      /^HTTP\/1\.1 400 /,
    )
  })
})

test('web pages are refused on every route, and no answer lets them read it', async t => {
  await withWorker({}, async (ask, _port, bus) => {
    const pages = [{ Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: 'http://127.0.0.1:5173' }]
    const sites = ['cross-site', 'same-site', 'same-origin'].map(site => ({ 'Sec-Fetch-Site': site }))
    for (const headers of [...pages, ...sites]) {
      for (const answer of [
        await ask({ headers: { ...jsonHeaders(), ...headers }, body: talkBody() }),
        await ask({ method: 'GET', path: '/api/health', headers }),
      ]) {
        t.is(codeOf(answer), 'invalid_request', JSON.stringify(headers))
        t.is(answer.headers['access-control-allow-origin'], undefined)
      }
    }
    t.is((await ask({ headers: { ...jsonHeaders(), 'Sec-Fetch-Site': 'none' }, body: talkBody() })).status, 200)
    t.is((await bus.calls()).length, 1)
  })
})

test('a wrong secret in any form is auth_failed, never a crash', async t => {
  await withWorker({}, async (ask, port, bus) => {
    const forms = [
      null,
      '',
      'Bearer',
      'Bearer ',
      'Basic k',
      'k',
      'Bearer K',
      'Bearer kk',
      'Bearer é',
      `Bearer ${'x'.repeat(10_000)}`,
    ]
    for (const form of forms) {
      const answer = await ask({ headers: { ...jsonHeaders(), Authorization: form }, body: talkBody() })
      t.is(codeOf(answer), 'auth_failed', String(form))
      t.is(answer.headers['www-authenticate'], 'Bearer')
      t.regex(sentenceOf(answer), /in the header Authorization as a bearer token/)
    }
    const two = `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`
    t.regex(await sendRaw(port, two), /"auth_failed"/)
    t.deepEqual(await bus.calls(), [])
  })
})

test('on a bus without a secret names are claims, and operator is nobody special', async t => {
  const wish: InstanceWish = { peers: ['caller'] }
  const play = async (ask: (sending: Sending) => Promise<Answer>): Promise<void> => {
    for (const bearer of [null, 'whatever', 'a'.repeat(64)]) {
      t.is((await ask({ headers: jsonHeaders(bearer), body: talkBody() })).status, 200)
    }
    t.is(
      codeOf(await ask({ headers: jsonHeaders(null), body: talkBody({ fromInstance: 'operator' }) })),
      'peer_not_allowed',
    )
    t.is(codeOf(await ask({ headers: { ...jsonHeaders(null), Origin: 'null' }, body: talkBody() })), 'invalid_request')
  }
  const bus = await createBus({ secret: undefined })
  const { port } = await bus.serve('worker', wish)
  await play(sending => send(port, sending))
  await bus.close()
})

test('who asks for the line to be closed finds it closed, not kept until it is idle', async t => {
  await withWorker({}, async (_ask, port) => {
    const head = 'Host: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n'
    const refused = [
      'GET /api/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
      `POST /api/talk HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`,
      `POST /api/talk HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      `POST /api/nothing HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`,
    ]
    for (const bytes of refused) {
      const startedAtMs = performance.now()
      t.regex(await sendRaw(port, bytes), /^HTTP\/1\.1 4\d\d /)
      // A line that is kept is idle for five seconds before it is closed.
      t.true(performance.now() - startedAtMs < 5000, bytes)
    }
  })
})

test('nothing is read, inflated or parsed for a stranger, and the answer comes before the body does', async t => {
  await withWorker({}, async (_ask, port) => {
    const head = `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 900000\r\n\r\n`
    t.regex(await sendRaw(port, head, text => text.includes('auth_failed')), /^HTTP\/1\.1 401 /)
  })
})

test('the body limit counts bytes while they come, chunked or not', async t => {
  await withWorker({}, async (ask, port) => {
    const body = (bytes: number): string => {
      const around = Buffer.byteLength(talkBody({ prompt: '' }))
      return talkBody({ prompt: 'é'.repeat((bytes - around) / 2) + 'x'.repeat((bytes - around) % 2) })
    }
    const limit = 1024 * 1024
    t.is(Buffer.byteLength(body(limit)), limit)
    for (const transfer of [undefined, 'chunked'] as const) {
      const how = transfer === undefined ? {} : { transfer }
      t.is((await ask({ headers: jsonHeaders(), body: body(limit), ...how })).status, 200)
      t.is(codeOf(await ask({ headers: jsonHeaders(), body: body(limit + 1), ...how })), 'request_too_large')
    }
    // A sender that never ends is answered as soon as it is over the limit.
    const endless = `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
    t.regex(await sendRaw(port, endless + chunk + chunk, text => text.includes('too_large')), /^HTTP\/1\.1 413 /)
  })
})

test('who is refused while still sending can send it all, and then hears why', async t => {
  await withWorker({}, async (_ask, port) => {
    const bytes = 8 * 1024 * 1024
    const rows: readonly [path: string, bearer: string, status: RegExp][] = [
      ['/api/talk', 'wrong', /^HTTP\/1\.1 401 /],
      ['/api/talk', 'k', /^HTTP\/1\.1 413 /],
      ['/api/nothing', 'k', /^HTTP\/1\.1 404 /],
    ]
    for (const [path, bearer, status] of rows) {
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bearer}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${bytes}\r\n\r\n`
      const socket = connect(port, '127.0.0.1')
      await new Promise<void>((resolve, reject) => {
        socket.write(head + 'x'.repeat(bytes), error => (error ? reject(error) : resolve()))
      })
      const [answer] = await once(socket, 'data')
      t.regex(String(answer), status)
      socket.destroy()
    }
  })
})

test('what Node would answer by itself is an envelope too', async t => {
  await withWorker({}, async (_ask, port) => {
    const rows: readonly [string, RegExp][] = [
      ['GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', /400 [\s\S]*one Host header/],
      ['NONSENSE\r\n\r\n', /400 [\s\S]*not a well-formed HTTP request/],
      ['GET /api/health HTTP/9.9\r\n\r\n', /400 [\s\S]*not a well-formed/],
      [
        `GET /api/health HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
        /413 [\s\S]*request_too_large/,
      ],
      ['CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n', /400 [\s\S]*CONNECT is not served/],
      [
        'GET /api/health HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
        /^HTTP\/1\.1 200 /,
      ],
      [
        'POST /api/talk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
        /400 [\s\S]*not a well-formed/,
      ],
      ['POST /api/talk HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', /400 [\s\S]*not a well-formed/],
      ['\x16\x03\x01\x02\x00\x01\x00\x01', /400 [\s\S]*not a well-formed/],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /400 /],
      ['OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', /404 [\s\S]*no such route/],
      [
        'GET /api/health HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n',
        /^HTTP\/1\.1 200 /,
      ],
    ]
    for (const [bytes, expected] of rows) t.regex(await sendRaw(port, bytes), expected, bytes.slice(0, 60))
  })
})

test('a caller that resets its connection ends nothing but that, whatever it had asked for', async t => {
  await withWorker({}, async (ask, port) => {
    for (const bytes of ['CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\nmore', 'NONSENSE\r\n\r\n']) {
      const rude = connect(port, '127.0.0.1', () => rude.write(bytes))
      const closed = new Promise(resolve => rude.once('close', resolve))
      rude.once('data', () => rude.resetAndDestroy())
      await closed
    }
    t.is((await ask({ headers: jsonHeaders(), body: talkBody() })).status, 200)
  })
})

test('only who waits for it is told to continue: not HTTP/1.0, not other expectations', async t => {
  await withWorker({}, async (_ask, port) => {
    const rows = [
      ['1.1', '100-continue', true],
      ['1.0', '100-continue', false],
      ['1.1', 'miracles', false],
    ] as const
    for (const [version, expectation, isTold] of rows) {
      const head = `POST /api/talk HTTP/${version}\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nConnection: close\r\n`
      const body = talkBody()
      const text = await sendRaw(port, `${head}Expect: ${expectation}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      t.is(text.startsWith('HTTP/1.1 100 '), isTold, expectation)
      t.regex(text, /HTTP\/1\.1 200 OK[\s\S]*"success":true/)
    }
  })
})

test('an answer that is owed goes before what is wrong behind it', async t => {
  await withWorker({ behaviour: 'slow:300' }, async (_ask, port) => {
    const head = `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n`
    const first = `${head}Content-Length: ${talkBody().length}\r\n\r\n${talkBody()}`
    for (const second of [`${head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`, 'NONSENSE\r\n\r\n'])
      t.regex(await sendRaw(port, first + second), /^HTTP\/1\.1 200 OK[\s\S]*"success":true[^\r]*$/)
  })
})

test('a malformed body in chunks is refused, and the caller is not left waiting', async t => {
  await withWorker({}, async (_ask, port, bus) => {
    const broken = `POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`
    t.regex(await sendRaw(port, broken), /^HTTP\/1\.1 400 [\s\S]*"invalid_request"/)
    t.deepEqual(await bus.calls(), [])
  })
})

test('404 for a wrong path, 405 and Allow for a wrong method', async t => {
  const routes = 'the routes are POST /api/talk, POST /api/turns/TURN/cancel and GET /api/health.'
  await withWorker({}, async ask => {
    for (const path of ['/', '/api', '/api/', '/api/talk/', '/API/TALK', '/api/talk/x', '/api%2Ftalk', '//api/talk']) {
      const answer = await ask({ path, headers: jsonHeaders(), body: talkBody() })
      t.is(answer.status, 404, path)
      t.is(codeOf(answer), 'invalid_request')
      t.is(sentenceOf(answer), `There is no such route; ${routes}`)
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask({ method, headers: jsonHeaders() })
      t.is(answer.status, 405, method)
      t.is(codeOf(answer), 'invalid_request')
      t.is(answer.headers['allow'], 'POST')
      t.is(sentenceOf(answer), `This route does not take ${method}; ${routes}`)
    }
    const health = await ask({ method: 'POST', path: '/api/health', headers: jsonHeaders(), body: talkBody() })
    t.is(health.status, 405)
    t.deepEqual(String(health.headers['allow']).split(', ').sort(), ['GET', 'HEAD'])
  })
})

test('bytes that are not UTF-8, a BOM, deep nesting and prototype keys do no harm', async t => {
  await withWorker({ peers: ['caller'] }, async ask => {
    const bad = Buffer.concat([
      Buffer.from('{"fromInstance":"caller","depth":1,"prompt":"'),
      Buffer.of(0xff, 0xfe),
      Buffer.from('"}'),
    ])
    t.regex(sentenceOf(await ask({ headers: jsonHeaders(), body: bad })), /not UTF-8/)
    t.is((await ask({ headers: jsonHeaders(), body: `\ufeff${talkBody()}` })).status, 200)
    const deep = `{"fromInstance":"caller","prompt":"p","depth":1,"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    t.true([200, 400].includes((await ask({ headers: jsonHeaders(), body: deep })).status))
    const proto = '{"fromInstance":"caller","prompt":"p","depth":1,"__proto__":{"success":true},"constructor":1}'
    t.is((await ask({ headers: jsonHeaders(), body: proto })).status, 200)
    for (const fromInstance of [
      'constructor',
      '__proto__',
      'toString',
      'Caller',
      'caller ',
      'call',
      '*',
      'caller\u0000',
    ]) {
      t.is(
        codeOf(await ask({ headers: jsonHeaders(), body: talkBody({ fromInstance }) })),
        'peer_not_allowed',
        fromInstance,
      )
    }
  })
})

test('an engine that breaks its contract is invalid_handler_response; a bug is internal_error and the bus lives on', async t => {
  const broken = { ...command, command: () => JSON.parse('{"nonsense":true}') }
  await withWorker({ engine: broken }, async ask => {
    const answer = await ask({ headers: jsonHeaders(), body: talkBody() })
    t.is(codeOf(answer), 'invalid_handler_response')
    t.is(answer.status, 500)
  })
  const bus = await createBus()
  const logged: unknown[][] = []
  const bug = (): never => {
    throw new Error('a bug')
  }
  const host = {
    ...bus.host,
    log: (...line: unknown[]) => void logged.push(line),
    ledger: { ...bus.ledger, enter: bug, sound: bug },
  }
  const { serve } = await import('../src/bus/server.ts')
  const { right } = await import('./fixtures/bus.ts')
  const { port, instance } = await bus.serve('worker', {})
  const buggy = right(await serve(host, instance, () => 'unknown')())
  const answer = await send(buggy.port, { headers: jsonHeaders(), body: talkBody() })
  t.is(codeOf(answer), 'internal_error')
  t.notRegex(answer.text, /a bug|at .*\.ts/)
  const health = await send(buggy.port, { method: 'GET', path: '/api/health' })
  t.is(health.status, 500)
  for (const said of [answer, health]) t.is(sentenceOf(said), 'Something went wrong inside the bus; its log says what.')
  t.is(logged.length, 2)
  for (const [event, facts, level] of logged) {
    t.deepEqual([event, level], ['bug', 'error'])
    t.regex(String(Reflect.get(Object(facts), 'error')), /^Error: a bug\n {4}at /)
  }
  t.is((await send(port, { headers: jsonHeaders(), body: talkBody() })).status, 200)
  await buggy.stop(0)
  await bus.close()
})

test('slow senders are cut after a while, and others are served meanwhile', async t => {
  t.timeout(60_000)
  await withWorker({}, async (ask, port) => {
    const refused = sendRaw(
      port,
      'POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n{',
    )
    const slow = connect(port, '127.0.0.1')
    slow.write(
      'POST /api/talk HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    )
    const drip = setInterval(() => slow.write(' '), 500)
    let text = ''
    slow.on('data', part => {
      text += part
    })
    slow.on('error', () => undefined)
    const closed = new Promise(resolve => slow.once('close', resolve))
    t.is((await ask({ headers: jsonHeaders(), body: talkBody() })).status, 200)
    await closed
    clearInterval(drip)
    t.regex(text, /^HTTP\/1\.1 400 [\s\S]*did not arrive within 8 s/)
    t.regex(await refused, /^HTTP\/1\.1 413 (?![\s\S]*HTTP\/1\.1)/, 'refused once, while it still came')
  })
})
