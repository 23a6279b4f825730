import { readFileSync } from 'node:fs'
import test from 'ava'
import command from '../../engines/command.ts'
import { aPath, isGone, logged, oneTurn, script, until } from './one-turn.ts'
import { answers, lives, plain, prints } from './plain-engine.ts'

test('whoever watches hears each event in its order, and cannot break the turn', async t => {
  const kinds: string[] = []
  const source = `${prints({ kind: 'session', id: 's' }, { kind: 'text', text: 'a' })} console.error('line'); setTimeout(() => { ${prints({ kind: 'tool', name: 'x' }, answers('b'))} }, 200)`
  const came = await oneTurn({
    engine: plain({ decodeError: line => [{ kind: 'denied', what: line }] }),
    cli: script(source),
    settings: { access: 'read' },
    onEvent: event => {
      kinds.push(event.kind)
      throw new Error('boom')
    },
  })
  t.is(came.text, 'b')
  t.deepEqual(kinds.toSorted(), ['denied', 'result', 'session', 'text', 'tool'])
  t.deepEqual(
    kinds.filter(kind => kind !== 'denied'),
    ['session', 'text', 'tool', 'result'],
  )
})

test('a turn that says nothing any more is ended, unless it is inside a tool', async t => {
  const quiet = await oneTurn({ engine: command, cli: ['/bin/sleep', '60'], idleTimeoutMs: 300 })
  t.is(quiet.code, 'timeout')
  t.is(quiet.sentence, 'The CLI was idle: nothing was heard for 300 ms, its "idleTimeout"; the turn was ended.')
  const chatty = script(
    `const all = setInterval(() => console.error('.'), 100); setTimeout(() => { clearInterval(all); console.log('x') }, 3000)`,
  )
  t.is((await oneTurn({ engine: command, cli: chatty, idleTimeoutMs: 2000 })).text, 'x')
  const tool = `${prints({ kind: 'tool', name: 'x' }, { kind: 'denied', what: 'y' })}`
  const inside = `${tool} setTimeout(() => { ${prints(answers('x'))} }, 3000)`
  t.is(
    (await oneTurn({ engine: plain(), cli: script(inside), idleTimeoutMs: 2000, settings: { access: 'read' } })).text,
    'x',
  )
  const after = `${tool} ${prints({ kind: 'text', text: 'back' })} ${lives}`
  t.is((await oneTurn({ engine: plain(), cli: script(after), idleTimeoutMs: 1500 })).code, 'timeout')
})

test('idle while it tries again is the cause of that', async t => {
  const source = prints({ kind: 'retry', status: 503, reason: 'overloaded' }) + lives
  const came = await oneTurn({
    engine: plain({ classify: () => ({ code: 'engine_cli', sentence: '' }) }),
    cli: script(source),
    idleTimeoutMs: 1500,
  })
  t.is(came.code, 'rate_limited')
})

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('a daemon that a CLI leaves behind is ended, also after a success', async t => {
  const log = aPath('daemon')
  const daemon = `require('fs').appendFileSync(process.env.FAKE_LOG, JSON.stringify({ pid: process.pid }) + '\\n'); process.on('SIGHUP', () => {}); process.on('SIGTERM', () => {}); ${lives}`
  const source = `
    require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(daemon)}], { detached: true, stdio: 'ignore' }).unref()
    setInterval(() => { if (require('fs').existsSync(process.env.FAKE_LOG)) { ${prints(answers('done'))} process.exit(0) } }, 20)`
  const came = await oneTurn({ engine: plain(), cli: script(source), environment: { FAKE_LOG: log } })
  t.is(came.text, 'done')
  const pid = logged(log)[0]?.['pid']
  t.is(typeof pid, 'number')
  await until(() => isGone(pid))
  t.throws(() => readFileSync(`/proc/${pid}/environ`))
})
