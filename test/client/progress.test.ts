import test, { type ExecutionContext } from 'ava'
import { delegate } from '../../src/client/delegate.ts'
import { eventReader, type WireEvent } from '../../src/client/event-reader.ts'
import type { ProgressEvent } from '../../src/protocol/progress.ts'
import { type Answer, failed, httpStub, json, success } from './stub.ts'

const follow = async (t: ExecutionContext, answer: Answer, responseLimitBytes?: number) => {
  const stub = await httpStub(answer)
  t.teardown(stub.close)
  const told: ProgressEvent[] = []
  const reply = await delegate(
    { name: 'worker', url: stub.url },
    { fromInstance: 'reviewer', prompt: 'ping', depth: 0 },
    { bearer: 'secret' },
    {
      now: Date.now,
      timeoutMs: 20_000,
      onProgress: event => told.push(event),
      ...(responseLimitBytes === undefined ? {} : { responseLimitBytes }),
    },
  )()
  return { reply, told, request: stub.requests[0] }
}

const events =
  (text: string, end: 'end' | 'open' | 'cut' = 'end'): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write(text, () => {
      if (end === 'end') response.end()
      else if (end === 'cut') response.destroy()
    })
  }

const event = (id: number, name: string, data: unknown) =>
  `id: ${id}\nevent: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

const accepted = event(1, 'accepted', { turn: 't', root: 'r', depth: 1 })
const envelope = event(9, 'envelope', success('pong'))

test('events are told in their order, and the envelope is the answer', async t => {
  const text =
    event(2, 'started', {}) + event(3, 'text', { text: 'Hé 😀', delta: true }) + event(4, 'tool', { name: 'Read' })
  const { reply, told, request } = await follow(
    t,
    events(
      accepted + text + event(5, 'spend', { usd: 0.5, tokens: 7 }) + event(7, 'retry', { status: 529 }) + envelope,
    ),
  )
  t.like(reply.envelope, { success: true, text: 'pong' })
  t.deepEqual(told, [
    { kind: 'accepted', turn: 't', root: 'r', depth: 1, id: 1 },
    { kind: 'started', id: 2 },
    { kind: 'text', text: 'Hé 😀', delta: true, id: 3 },
    { kind: 'tool', name: 'Read', id: 4 },
    { kind: 'spend', usd: 0.5, tokens: 7, id: 5 },
    { kind: 'retry', status: 529, id: 7 },
  ])
  t.is(request?.headers.accept, 'text/event-stream, application/json')
  t.deepEqual(JSON.parse(request?.body ?? '').capabilities, ['structured-errors', 'retryable-errors'])
})

test('what a newer or a careless peer tells is passed over', async t => {
  const strange = [
    ': a comment\n\n',
    event(2, 'weather', { sunny: true }),
    event(3, 'text', 'no JSON'),
    event(4, 'text', { text: 5, delta: false }),
    event(5, 'constructor', {}),
    'data: {"nameless":1}\n\n',
    'event: started\n\n',
    event(6, 'started', { more: 'than we know' }),
  ]
  const { reply, told } = await follow(t, events(strange.join('') + envelope))
  t.true(reply.envelope.success)
  t.deepEqual(told, [{ kind: 'started', id: 6 }])
})

test('an old peer answers with one JSON, and so does a refusal', async t => {
  const old = await follow(t, json(200, success('pong')))
  t.like(old.reply.envelope, { success: true, text: 'pong' })
  const refused = await follow(t, json(402, failed('budget_exhausted')))
  t.like(refused.reply.envelope, { errorCode: 'budget_exhausted' })
  t.deepEqual([...old.told, ...refused.told], [])
})

test('a failure in the last event is the answer, and may be repeated where it says so', async t => {
  const { reply } = await follow(t, events(accepted + event(2, 'envelope', failed('busy', { retryable: true }))))
  t.like(reply.envelope, { success: false, errorCode: 'busy' })
  t.true(reply.repeatable)
})

for (const end of ['end', 'cut'] as const) {
  test(`a stream without its envelope is no answer (${end}), and is not repeated`, async t => {
    const { reply, told } = await follow(t, events(`${accepted}event: envelope\ndata: {"success":`, end))
    t.like(reply.envelope, { success: false, errorCode: 'invalid_response' })
    t.false(reply.repeatable)
    t.false(reply.gone)
    t.is(told.length, 1)
  })
}

test('nothing after the envelope is waited for or told', async t => {
  const { reply, told } = await follow(t, events(accepted + envelope + event(10, 'started', {}), 'open'))
  t.true(reply.envelope.success)
  t.is(told.length, 1)
})

test('an envelope that is none, and an event without end, are no answers', async t => {
  const broken = await follow(t, events(accepted + event(2, 'envelope', '[1]')))
  t.like(broken.reply.envelope, { errorCode: 'invalid_response' })
  const endless = await follow(
    t,
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const more = setInterval(() => response.write(`data: ${'x'.repeat(64 * 1024)}\n`), 1)
      response.on('close', () => clearInterval(more))
    },
    1024 * 1024,
  )
  t.like(endless.reply.envelope, { errorCode: 'invalid_response' })
})

test('a long stream of short events is no long answer', async t => {
  const many = Array.from({ length: 2000 }, (_, n) => event(n + 1, 'text', { text: 'x'.repeat(50), delta: true }))
  const { reply, told } = await follow(t, events(many.join('') + envelope), 80 * 1024)
  t.true(reply.envelope.success)
  t.is(told.length, 2000)
})

const heard = (pieces: readonly Uint8Array[]): readonly WireEvent[] => {
  const told: WireEvent[] = []
  const reader = eventReader(1024 * 1024, one => told.push(one))
  for (const piece of pieces) reader.push(piece)
  return told
}

test('events are the same wherever the bytes are cut, whatever ends a line', t => {
  for (const newline of ['\n', '\r\n', '\r']) {
    const lines = [
      '\uFEFFid: 1',
      'event:text',
      'data: Hé 😀',
      'data:  two',
      '',
      ':beat',
      '',
      'data',
      'retry: 5',
      '',
      '',
    ]
    const bytes = Buffer.from(lines.join(newline))
    const whole = [
      { name: 'text', id: '1', data: 'Hé 😀\n two' },
      { name: 'message', id: '1', data: '' },
    ]
    t.deepEqual(heard([bytes]), whole)
    t.deepEqual(heard([...bytes].map(byte => Uint8Array.of(byte))), whole)
    for (let at = 0; at <= bytes.length; at++) t.deepEqual(heard([bytes.subarray(0, at), bytes.subarray(at)]), whole)
  }
})
