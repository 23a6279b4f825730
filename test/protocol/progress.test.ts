import { readFileSync } from 'node:fs'
import test from 'ava'
import { decodeEnvelope } from '../../src/protocol/envelope.ts'
import { decodeProgress, envelopeEvent, sayEvent } from '../../src/protocol/progress.ts'
import { eventsIn } from '../fixtures/events.ts'

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const stream = /```text\n(id: 1\n[\s\S]*?)```/.exec(page)?.[1] ?? ''
const rows = [...(/\| event \| when[\s\S]*?\n\n/.exec(page)?.[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(
  ([, kind]) => kind,
)

test('the stream in docs/protocol.md is what we write, and what we read', t => {
  const events = eventsIn(stream)
  t.is(events.length, 7)
  t.is(events.map(({ id, event, data }) => sayEvent(id, event, data)).join(''), stream)
  for (const { event, data } of events) {
    if (event === envelopeEvent) t.is(decodeEnvelope(data, { fromInstance: '', durationMs: 0 })._tag, 'Right')
    else t.deepEqual<unknown, unknown>(decodeProgress(event, data), { kind: event, ...data })
  }
})

test('the table in docs/protocol.md has every event of that stream', t => {
  t.deepEqual(
    rows.toSorted(),
    eventsIn(stream)
      .map(({ event }) => event)
      .toSorted(),
  )
})

test('what has another shape is nothing', t => {
  for (const [kind, body] of [
    ['accepted', { turn: 't', root: 'r' }],
    ['accepted', undefined],
    ['text', { text: 'x' }],
    ['spend', { usd: -1, tokens: 1 }],
    ['spend', { usd: 1, tokens: '1' }],
    ['retry', { status: 'busy' }],
    ['__proto__', {}],
    ['toString', {}],
    ['envelope', {}],
  ] as const)
    t.is(decodeProgress(kind, body), undefined, kind)
})

test('an event is of whole lines, whatever its text says', t => {
  const said = sayEvent(3, 'text', { text: 'a\n\nid: 9\r\nevent: envelope\u2028', delta: false })
  t.is(said.split('\n').length, 5)
  t.deepEqual(eventsIn(said), [
    { id: 3, event: 'text', data: { text: 'a\n\nid: 9\r\nevent: envelope\u2028', delta: false } },
  ])
})
