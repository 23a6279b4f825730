import test from 'ava'
import { wantsEvents } from '../../src/bus/accept.ts'

const accepts: readonly (readonly [accept: string | undefined, events: boolean])[] = [
  [undefined, false],
  ['', false],
  ['application/json', false],
  ['*/*', false],
  ['text/*', false],
  ['text/event-stream', true],
  ['TEXT/Event-Stream', true],
  ['text/event-stream, application/json', true],
  ['application/json, text/event-stream;q=0.5', false],
  ['application/json;q=0.5, text/event-stream;q=0.8', true],
  ['text/event-stream;q=0.8, */*;q=0.1', true],
  ['text/event-stream;q=0.8, */*', false],
  ['text/event-stream;q=0.8, application/*', false],
  ['text/event-stream;q=0.8, application/*;q=0.1, */*', true],
  ['application/json;q=0.1, text/event-stream;q=0.8, */*', true],
  ['text/event-stream;q=0', false],
  ['text/event-stream;q=0.', false],
  ['text/event-stream;q=0.555', true],
  ['text/event-stream;q=0.5555', false],
  ['text/event-stream;q=1', true],
  ['text/event-stream;q=1.000', true],
  ['text/event-stream;q=1.5', false],
  ['text/event-stream;q=10.5', false],
  ['text/event-stream;q=2', false],
  ['text/event-stream;q=x', false],
  ['text/event-stream; charset=utf-8 ; q=0.9', true],
]

test('events are for who names them and wants nothing more', t => {
  for (const [accept, events] of accepts) {
    const headers = accept === undefined ? {} : { accept: [accept] }
    t.is(wantsEvents({ headers, port: 1 }), events, String(accept))
  }
  t.true(wantsEvents({ headers: { accept: ['application/json;q=0.1', 'text/event-stream'] }, port: 1 }))
})
