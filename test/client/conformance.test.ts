import { readFileSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import { newOwner } from '../../src/launch/hosting.ts'
import { talkWith } from '../../src/launch/talk.ts'
import { makeWorld, right } from '../launch/world.ts'
import { freePort, httpStub, json, rawStub, type Stub, success } from './stub.ts'

interface Case {
  readonly id: string
  readonly area: string
  readonly why: string
  readonly setup: {
    readonly client: {
      readonly ownDepth: number
      readonly maxDepth: number
      readonly timeoutMs: number
      readonly target?: string
    }
    readonly stub: {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
      readonly behaviour?: string
      readonly targetSecret?: null
    }
  }
  readonly expect: {
    readonly client?: Readonly<Record<string, unknown>>
    readonly sent?: Readonly<Record<string, unknown>>
  }
}

const { cases }: { readonly cases: readonly Case[] } = JSON.parse(
  readFileSync(new URL('../vectors/conformance.json', import.meta.url), 'utf8'),
)

for (const one of cases.filter(({ area }) => area === 'client')) {
  test(`${one.id}: ${one.why}`, async t => {
    const other = await httpStub(json(200, success('stolen')))
    t.teardown(other.close)
    const { stub, url } = await stubOf(t, one, other)
    const { reply, secret } = await ask(t, one, url)

    const { ok, ...expected } = one.expect.client ?? { ok: true }
    allows(t, reply.envelope.success, ok, 'ok')
    const fields = new Map<string, unknown>(Object.entries(reply.envelope))
    for (const [field, value] of Object.entries(expected)) allows(t, fields.get(field), value, field)
    t.is(other.connections(), 0)
    if (one.setup.stub.behaviour === 'must-not-be-called') t.is(stub?.connections(), 0)
    if (one.expect.sent !== undefined) sent(t, one.expect.sent, stub, secret)
  })
}

/** Through the registry and all that `errand talk` does, but launching. */
const ask = async (t: ExecutionContext, { setup, expect: expected }: Case, url: string | undefined) => {
  const world = await makeWorld(t)
  const { ownDepth, maxDepth, timeoutMs, target = 'worker' } = setup.client
  const instance = { engine: 'command', command: ['true'], peers: ['*'], maxDepth }
  const state = await world.state({
    ...(setup.stub.targetSecret === null ? { bus: { secret: false } } : {}),
    instances: { worker: instance, caller: instance },
  })
  const owner = newOwner()
  if (url !== undefined) {
    await right(state.registry.claim(owner, [{ name: target, engine: 'command' }]))
    await right(state.registry.publish(owner.owner, new Map([[target, url]])))
  }
  const reply = await talkWith(undefined)(state, {
    name: target,
    prompt: 'ping',
    from: 'caller',
    depth: ownDepth,
    // A busy machine may take longer than the cases have in mind, and only one of them is about that.
    timeoutMs: expected.client?.['errorCode'] === 'timeout' ? timeoutMs : 60_000,
  })()
  return { reply, secret: state.secret }
}

const stubOf = async (t: ExecutionContext, { setup }: Case, other: Stub): Promise<{ stub?: Stub; url?: string }> => {
  const { status = 200, headers = {}, body = '', behaviour } = setup.stub
  const closed = (stub: Stub) => {
    t.teardown(stub.close)
    return { stub, url: stub.url }
  }
  switch (behaviour) {
    case undefined: {
      const filled = Object.entries(headers).map(([name, value]) => [
        name,
        value.replace('{otherPort}', `${other.port}`),
      ])
      return closed(
        await httpStub((_request, response) => response.writeHead(status, Object.fromEntries(filled)).end(body)),
      )
    }
    case 'not-in-registry':
      return {}
    case 'connection-refused':
      return { url: `http://127.0.0.1:${await freePort()}` }
    case 'accepts-then-resets':
      return closed(await rawStub(socket => socket.once('data', () => socket.resetAndDestroy())))
    case 'drip-body-forever':
      return closed(
        await httpStub((_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          const drip = setInterval(() => response.write(' '), 50)
          response.on('close', () => clearInterval(drip))
        }),
      )
    case 'health-slow:700ms':
      return closed(
        await httpStub((request, response) => {
          if (request.url === '/api/health') setTimeout(() => response.end('{}'), 700)
          else json(200, success('alive'))(request, response)
        }),
      )
    case 'capture-request':
    case 'must-not-be-called':
      return closed(await httpStub(json(200, success('taken'))))
    default:
      throw new Error(`no stub for ${behaviour}`)
  }
}

const allows = (t: ExecutionContext, found: unknown, expected: unknown, field: string): void => {
  const allowed = (Array.isArray(expected) ? expected : [expected]).map(value =>
    value === 'absent' ? undefined : value,
  )
  t.true(allowed.includes(found), `${field}: ${JSON.stringify(found)} is none of ${JSON.stringify(expected)}`)
}

const sent = (
  t: ExecutionContext,
  expected: Readonly<Record<string, unknown>>,
  stub: Stub | undefined,
  secret: string | undefined,
): void => {
  const [request] = stub?.requests ?? []
  const facts = new Map<string, unknown>([
    ['method', request?.method],
    ['path', request?.path],
    ...Object.entries(request?.headers ?? {}).map(([name, value]) => [`headers.${name}`, value] as const),
    ...Object.entries(JSON.parse(request?.body ?? '{}')).map(([name, value]) => [`json.${name}`, value] as const),
  ])
  t.is(stub?.requests.length, 1)
  for (const [field, value] of Object.entries(expected)) {
    const filled = typeof value === 'string' ? value.replace('<target secret>', secret ?? '') : value
    t.deepEqual(facts.get(field), filled === 'absent' ? undefined : filled, field)
  }
}
