import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { readBody } from '../../src/bus/body.ts'

const limitBytes = 32

interface Read {
  readonly says: unknown
  /** How many still listen to what comes. */
  readonly listeners: number
}

/** A server that answers with what it read, and says what that was. */
const aServer = async (t: ExecutionContext) => {
  const reads: Read[] = []
  const listeners: ((read: Read) => void)[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const port = request.socket.localPort ?? 0
    const read = await readBody(request, response, { headers: request.headersDistinct, port }, limitBytes)()
    const says = E.isRight(read) ? read.right : `${read.left.code}: ${read.left.sentence}`
    const came = { says, listeners: request.listenerCount('data') }
    reads.push(came)
    for (const listener of listeners) listener(came)
    // What is too large only turns out while it comes; the rest comes all the same.
    const isCut = E.isLeft(read) && request.headers['transfer-encoding'] !== undefined
    if (isCut && !request.readableEnded) await once(request, 'end')
    response.end('answer')
  }
  const server = createServer()
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address: AddressInfo | string | null = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const nextRead = (): Promise<Read> => new Promise(resolve => listeners.push(resolve))
  /** One request of its own; all that came back until the server closed. */
  const post = async (head: readonly string[], body: string | Buffer, version = '1.1') => {
    const socket = connect(port, '127.0.0.1')
    const lines = [`POST / HTTP/${version}`, 'Host: localhost', 'Connection: close', ...head]
    socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), Buffer.from(body)]))
    let answer = ''
    for await (const part of socket) answer += part
    return { says: reads.at(-1)?.says, listeners: reads.at(-1)?.listeners, answer }
  }
  return { port, post, nextRead }
}

const json = 'Content-Type: application/json'
const sized = (body: string | Buffer): readonly string[] => [json, `Content-Length: ${Buffer.byteLength(body)}`]
const chunked = [json, 'Transfer-Encoding: chunked']
const tooLarge = 'request_too_large: The body is larger than 32 bytes (bus.bodyLimit in budgets.json).'
const isNot = (what: string): string =>
  `invalid_request: The body is ${what}. Send {"fromInstance", "prompt", "depth"} as JSON.`

test('a body is the JSON of its bytes, however they come', async t => {
  const { post } = await aServer(t)
  const whole = `"${'é'.repeat(15)}"`
  t.is(Buffer.byteLength(whole), limitBytes)
  t.is((await post(sized(whole), whole)).says, 'é'.repeat(15))
  t.deepEqual((await post(sized('\ufeff{"a":1}'), '\ufeff{"a":1}')).says, { a: 1 })
  t.deepEqual((await post(chunked, '4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n')).says, { a: 1 })
  for (const [body, says] of [
    ['', isNot('not JSON')],
    ['{', isNot('not JSON')],
    [Buffer.of(0x22, 0xff, 0x22), isNot('not UTF-8')],
  ] as const)
    t.is((await post(sized(body), body)).says, says)
})

test('one byte more than the limit is too large, told or not, and what comes behind it is thrown away', async t => {
  const { post } = await aServer(t)
  const more = `"${'x'.repeat(limitBytes - 1)}"`
  t.is((await post(sized(more), more)).says, tooLarge)
  const inTwo = await post(chunked, `10\r\n"${'x'.repeat(15)}\r\n11\r\n${'x'.repeat(16)}"\r\n0\r\n\r\n`)
  t.is(inTwo.says, tooLarge)
  t.is(inTwo.listeners, 0, 'it is not kept')
  const megabyte = `100000\r\n${'x'.repeat(0x100000)}\r\n`
  const long = await post(chunked, `${megabyte.repeat(8)}0\r\n\r\n`)
  t.is(long.says, tooLarge)
  t.regex(long.answer, /^HTTP\/1\.1 200 [\s\S]*answer/)
})

test('type, encoding, length: who is refused by its head is not listened to', async t => {
  const { post } = await aServer(t)
  const body = 'x'.repeat(limitBytes + 1)
  const length = `Content-Length: ${body.length}`
  const rows: readonly [readonly string[], RegExp][] = [
    [['Content-Type: text/plain', 'Content-Encoding: gzip', length], /^invalid_request: The Content-Type must be/],
    [[json, 'Content-Encoding: gzip', length], /^invalid_request: Content-Encoding other than identity/],
    [[json, length], /^request_too_large: /],
  ]
  for (const [head, says] of rows) {
    const read = await post(head, body)
    t.regex(String(read.says), says)
    t.is(read.listeners, 0)
  }
})

test('a caller that hangs up in the middle of its body has said nothing', async t => {
  const { port, nextRead } = await aServer(t)
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const read = nextRead()
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${json}\r\nContent-Length: 9\r\n\r\n{`, () => socket[leave]())
    t.is((await read).says, 'cancelled: The caller hung up before its body was complete.')
    socket.destroy()
  }
})

test('who waits to be told is told to go on, unless it is of HTTP/1.0 or expects something else', async t => {
  const { post } = await aServer(t)
  const rows: readonly [expectation: readonly string[], version: string, isTold: boolean][] = [
    [['Expect: 100-continue'], '1.1', true],
    [['Expect: 100-Continue'], '1.1', true],
    [['Expect: 100-continue'], '1.0', false],
    [['Expect: x100-continue'], '1.1', false],
    [['Expect: 100-continued'], '1.1', false],
    [[], '1.1', false],
  ]
  for (const [expectation, version, isTold] of rows) {
    const { says, answer } = await post([...sized('1'), ...expectation], '1', version)
    t.is(says, 1)
    t.is(answer.startsWith('HTTP/1.1 100 Continue'), isTold, `${expectation} ${version}`)
  }
  const refused = await post(['Content-Type: text/plain', 'Content-Length: 1', 'Expect: 100-continue'], '')
  t.notRegex(refused.answer, /100 Continue/)
})
