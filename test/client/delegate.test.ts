import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { type DelegateOptions, delegate } from '../../src/client/delegate.ts'
import { until } from '../launch/world.ts'
import { type Answer, failed, httpStub, json, rawStub, type Stub, success } from './stub.ts'

const talk = { fromInstance: 'reviewer', prompt: 'ping', depth: 1 }
const now = Date.now

const send = (url: string, options: Partial<DelegateOptions> = {}, bearer: string | undefined = 'secret') =>
  delegate({ name: 'worker', url }, talk, { bearer }, { now, timeoutMs: 20_000, ...options })()

const answering = async (t: ExecutionContext, answer: Answer): Promise<Stub> => {
  const stub = await httpStub(answer)
  t.teardown(stub.close)
  return stub
}

const codeOf = ({ envelope }: Awaited<ReturnType<typeof send>>) => (envelope.success ? 'success' : envelope.errorCode)

test('HTTP-09: a decoy on [::1] sees nothing, whatever name the address has', async t => {
  const stub = await answering(t, json(200, success('right')))
  const decoy = await httpStub(json(200, success('wrong')), '::1', stub.port).catch(() => undefined)
  if (decoy === undefined) t.log('no IPv6 here, so no decoy')
  else t.teardown(decoy.close)
  for (const host of ['127.0.0.1', 'localhost', '[::1]', 'example.invalid']) {
    const reply = await send(`http://${host}:${stub.port}`)
    t.is(reply.envelope.text, 'right')
  }
  t.is(decoy?.connections() ?? 0, 0)
})

test('HTTP-10: no proxy of the environment is asked', async t => {
  const stub = await answering(t, json(200, success('direct')))
  const proxy = await answering(t, json(200, success('by proxy')))
  const program = `
    const { delegate } = await import(${JSON.stringify(new URL('../../src/client/delegate.ts', import.meta.url).href)})
    const { askHealth } = await import(${JSON.stringify(new URL('../../src/client/health.ts', import.meta.url).href)})
    const target = { name: 'worker', url: ${JSON.stringify(stub.url)} }
    const talk = { fromInstance: 'operator', prompt: 'ping', depth: 0 }
    const reply = await delegate(target, talk, { bearer: 's' }, { now: Date.now })()
    await askHealth(target, 10000)()
    console.log(reply.envelope.text)`
  const address = `http://127.0.0.1:${proxy.port}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: {
      PATH: process.env['PATH'],
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: address,
      http_proxy: address,
      ALL_PROXY: address,
      NO_PROXY: '*.corp',
    },
  })
  t.is(stdout.trim(), 'direct')
  t.is(proxy.connections(), 0)
  t.is(stub.requests.length, 2)
})

test('HTTP-13: whatever a peer answers, it is an envelope', async t => {
  const bodies: readonly [body: string, code: string, status?: number][] = [
    ['<html>oops</html>', 'invalid_response', 500],
    ['', 'invalid_response'],
    ['null', 'invalid_response'],
    ['"text"', 'invalid_response'],
    ['{"success":"true","text":"hi"}', 'invalid_response'],
    ['{"success":false,"error":"old"}', 'unknown'],
    [failed('brand_new_code'), 'brand_new_code'],
    [success('fine', { capabilities: ['a'], more: 1, protocolVersion: 7 }), 'success'],
  ]
  for (const [body, code, status = 200] of bodies) {
    const stub = await answering(t, json(status, body))
    const reply = await send(stub.url)
    t.is(codeOf(reply), code, body)
    if (!reply.envelope.success) t.true(reply.envelope.retryable)
  }
})

test('HTTP-13: an answer that breaks off is no answer, and is not taken for one that was never given', async t => {
  const stub = await rawStub(socket => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"success":true,\r\n')
      setImmediate(() => socket.destroy())
    })
  })
  t.teardown(stub.close)
  const reply = await send(stub.url)
  t.is(codeOf(reply), 'invalid_response')
  t.false(reply.gone)
  t.false(reply.repeatable)
})

test('what speaks another language than HTTP is no instance', async t => {
  const stub = await rawStub(socket => socket.write('SSH-2.0-OpenSSH_9.9\r\n'))
  t.teardown(stub.close)
  t.is(codeOf(await send(stub.url)), 'invalid_response')
})

test('who changes to another protocol is no instance, and is not waited for', async t => {
  const stub = await rawStub(socket =>
    socket.once('data', () => socket.write('HTTP/1.1 101 Switching\r\nupgrade: ws\r\nconnection: upgrade\r\n\r\n')),
  )
  t.teardown(stub.close)
  const reply = await send(stub.url)
  t.is(codeOf(reply), 'invalid_response')
  t.false(reply.repeatable)
})

test('an answer longer than the limit is not read to its end', async t => {
  const stub = await answering(t, (_request, response) => {
    response.writeHead(200)
    const more = setInterval(() => response.write('x'.repeat(64 * 1024)), 1)
    response.on('close', () => clearInterval(more))
  })
  const reply = await send(stub.url, { responseLimitBytes: 1024 * 1024 })
  t.is(codeOf(reply), 'invalid_response')
  t.regex(reply.envelope.success ? '' : reply.envelope.error, /1048576 bytes/)
})

test('giving up hangs up: the target sees its caller go', async t => {
  const caller = new AbortController()
  let hungUp: Promise<unknown> | undefined
  const stub = await answering(t, (_request, response) => {
    hungUp = once(response, 'close')
  })
  const reply = send(stub.url, { signal: caller.signal })
  await until(() => hungUp !== undefined)
  caller.abort()
  t.is(codeOf(await reply), 'cancelled')
  t.false((await reply).repeatable)
  await hungUp
  t.pass()
})

test('a caller that has given up before sends nothing', async t => {
  const stub = await answering(t, json(200, success('sent')))
  t.is(codeOf(await send(stub.url, { signal: AbortSignal.abort() })), 'cancelled')
  t.is(stub.connections(), 0)
})

test('its own time limit is `timeout`, and is not repeated by itself once bytes were sent', async t => {
  const stub = await answering(t, () => undefined)
  for (let timeoutMs = 100; ; timeoutMs *= 2) {
    const reply = await send(stub.url, { timeoutMs })
    t.is(codeOf(reply), 'timeout')
    if (stub.requests.length === 0) continue
    t.false(reply.repeatable)
    break
  }
})

test('a hint of the target is kept, from the body or from the header', async t => {
  const inBody = await answering(
    t,
    json(429, failed('rate_limited', { ext: { retryAfterMs: 1234 } }), { 'retry-after': '9' }),
  )
  const inHeader = await answering(t, json(503, failed('busy'), { 'retry-after': '7' }))
  const nonsense = await answering(t, json(503, failed('busy'), { 'retry-after': 'soon' }))
  t.is((await send(inBody.url)).envelope.ext?.retryAfterMs, 1234)
  t.is((await send(inHeader.url)).envelope.ext?.retryAfterMs, 7000)
  t.is((await send(nonsense.url)).envelope.ext?.retryAfterMs, undefined)
})

test('a prompt of a megabyte in several scripts arrives whole', async t => {
  const stub = await answering(t, json(200, success('read')))
  const prompt = 'añ漢🙂'.repeat(100_000)
  await delegate({ name: 'worker', url: stub.url }, { ...talk, prompt }, { bearer: undefined }, { now })()
  t.is(JSON.parse(stub.requests[0]?.body ?? '').prompt, prompt)
  t.is(stub.requests[0]?.headers.authorization, undefined)
})
