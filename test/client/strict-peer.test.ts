import test, { type ExecutionContext } from 'ava'
import { type DelegateOptions, delegate, type Talk } from '../../src/client/delegate.ts'
import { createBus } from '../fixtures/bus.ts'
import { jsonHeaders, send } from '../fixtures/http.ts'
import { failed, httpStub, type Stub, success } from './stub.ts'

const known = ['structured-errors', 'retryable-errors']
const requestFields = ['fromInstance', 'prompt', 'depth', 'protocolVersion', 'capabilities']
// `ext` is the one field in which all that is not the protocol's travels.
const replyFields = ['success', 'text', 'fromInstance', 'error', 'errorCode', 'retryable', 'durationMs', 'ext'].concat([
  'protocolVersion',
  'capabilities',
])

const strangeIn = (body: Readonly<Record<string, unknown>>, fields: readonly string[]): readonly string[] => {
  const { capabilities = [] } = body
  const listed = Array.isArray(capabilities) ? capabilities.map(String) : ['no list']
  return [
    ...Object.keys(body).filter(field => !fields.includes(field)),
    ...listed.filter(capability => !known.includes(capability)),
  ]
}

/** An instance that refuses what the first version of the protocol does not name, and knows no events. */
const strictPeer = async (t: ExecutionContext): Promise<Stub> => {
  const stub: Stub = await httpStub((_request, response) => {
    const sent = JSON.parse(stub.requests.at(-1)?.body ?? '')
    const strange = strangeIn(sent, requestFields)
    const body = strange.length > 0 ? failed('invalid_request', { error: strange.join() }) : success(sent.prompt)
    response.writeHead(strange.length > 0 ? 400 : 200, { 'content-type': 'application/json' }).end(body)
  })
  t.teardown(stub.close)
  return stub
}

const asked = async (t: ExecutionContext, more: Partial<Talk>, options: Partial<DelegateOptions>) => {
  const { url } = await strictPeer(t)
  const talk = { fromInstance: 'reviewer', prompt: 'hi', depth: 0, ...more }
  const { envelope } = await delegate({ name: 'worker', url }, talk, { bearer: 'k' }, { now: Date.now, ...options })()
  return envelope.success ? envelope.text : envelope.error
}

test('a strict old instance reads what is sent to it: plain, followed, or with a key', async t => {
  t.is(await asked(t, {}, {}), 'hi')
  t.is(await asked(t, {}, { idempotencyKey: 'k' }), 'hi')
  t.is(await asked(t, {}, { onProgress: () => undefined }), 'hi')
  t.is(await asked(t, {}, { idempotencyKey: 'k', onProgress: () => undefined, timeoutMs: 10_000 }), 'hi')
})

test('what it could not serve is in ext, and it says so', async t => {
  t.is(await asked(t, { thread: 'plan' }, {}), 'ext')
  t.is(await asked(t, { root: 'r1' }, {}), 'ext')
})

test('a strict old caller reads what it is answered: a text, a refusal, a failure, something new', async t => {
  const bus = await createBus()
  t.teardown(bus.close)
  const { port } = await bus.serve('worker', { peers: ['reviewer'] })
  const failing = await bus.serve('failing', { behaviour: 'crash' })
  const v1 = { protocolVersion: 1, capabilities: known }
  const talk = { fromInstance: 'reviewer', prompt: 'hi', depth: 1 }
  const say = (body: string, to = port, bearer = 'k') => send(to, { headers: jsonHeaders(bearer), body })
  const answers = [
    await say(JSON.stringify(talk)),
    await say(JSON.stringify({ ...talk, ...v1 })),
    await say(JSON.stringify(talk), port, 'wrong'),
    await say('{'),
    await say(JSON.stringify({ ...talk, depth: 9 })),
    await say(JSON.stringify(talk), failing.port),
    await send(port, { method: 'GET', path: '/nowhere' }),
  ]
  for (const { text } of answers) {
    const envelope = JSON.parse(text)
    t.is(typeof envelope.success, 'boolean')
    t.deepEqual(strangeIn(envelope, replyFields), [], text)
  }
  t.deepEqual(
    answers.map(({ text }) => JSON.parse(text).errorCode ?? 'success'),
    ['success', 'success', 'auth_failed', 'invalid_request', 'max_depth_exceeded', 'engine_cli', 'invalid_request'],
  )
})
