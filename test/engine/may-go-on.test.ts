import test from 'ava'
import { failure } from '../../src/protocol/failure.ts'
import { oneTurn, script } from './one-turn.ts'
import { answers, lives, plain, prints } from './plain-engine.ts'

const step = (text: string): object => ({ kind: 'result', ok: true, text, mayGoOn: true })
const text = (said: string): object => ({ kind: 'text', text: said })

test('a step that may go on is the answer once the process has ended, whatever its exit status', async t => {
  for (const status of [0, 1]) {
    const came = await oneTurn({ engine: plain(), cli: script(`${prints(step('done'))} process.exit(${status})`) })
    t.is(came.text, 'done', came.sentence)
  }
})

test('the last one counts, and a process that goes on is not hurried', async t => {
  const source = `${prints(step(''), text('summary'))} setTimeout(() => { ${prints(text('answer'), step(''))} }, 5500)`
  const came = await oneTurn({ engine: plain(), cli: script(source) })
  t.is(came.text, 'answer', came.sentence)
  t.true(came.ms >= 5500)
})

test('whoever was cut after such a step has no answer, and a cost that nobody knows', async t => {
  const cancel = new AbortController()
  const engine = plain({
    decode: record => {
      cancel.abort(failure('cancelled', 'Enough.'))
      return plain().decode(record)
    },
  })
  const cost = { kind: 'cost', scope: 'step', usd: 0.5 }
  const cut = await oneTurn({ engine, cli: script(prints(cost, step('half')) + lives), cancel: cancel.signal })
  t.is(cut.code, 'cancelled')
  t.deepEqual(cut.cost, { microUsd: 500_000, basis: 'unknown' })

  const dead = `${prints(cost, step('half'))} process.kill(process.pid, 'SIGKILL'); ${lives}`
  const killed = await oneTurn({ engine: plain(), cli: script(dead) })
  t.is(killed.code, 'engine_cli', killed.text)
  t.is(killed.cost.basis, 'unknown')
})

test('a failure that may go on is undone by an answer', async t => {
  const failed = { kind: 'result', ok: false, error: 'The context is full.', mayGoOn: true }
  const recovered = await oneTurn({ engine: plain(), cli: script(prints(failed, answers('good'))) })
  t.is(recovered.text, 'good', recovered.sentence)
})
