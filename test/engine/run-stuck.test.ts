import { existsSync } from 'node:fs'
import test from 'ava'
import command from '../../engines/command.ts'
import { aPath, isGone, oneTurn, script } from './one-turn.ts'
import { answers, lives, plain, prints } from './plain-engine.ts'

/** It knows nothing special, so that the core says what a retry means. */
const engine = plain({ classify: () => ({ code: 'engine_cli', sentence: '' }) })

const retry = (status: number, more: object = {}): object => ({
  kind: 'retry',
  status,
  reason: `error ${status}`,
  ...more,
})

test('a key that is refused twice is told at once, not after minutes, and costs nothing', async t => {
  const pids: number[] = []
  const twice = prints(retry(401, { reason: 'authentication_failed' })).repeat(2)
  const came = await oneTurn({ engine, cli: script(twice + lives), onStarted: ({ pid }) => void pids.push(pid) })
  t.is(came.code, 'auth')
  t.is(came.sentence, 'The CLI tries again and again: authentication_failed, status 401.')
  t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
  t.true(came.ms < 5000, `${came.ms} ms`)
  t.true(isGone(pids[0]))
})

test('one that is refused once has five seconds to get over it', async t => {
  const stays = await oneTurn({ engine, cli: script(prints(retry(401)) + lives) })
  t.is(stays.code, 'auth')
  t.true(stays.ms >= 5000 && stays.ms < 20_000, `${stays.ms} ms`)
  const goesOn = `${prints(retry(401))} setTimeout(() => { ${prints(answers('good'))} }, 200)`
  t.is((await oneTurn({ engine, cli: script(goesOn) })).text, 'good')
})

test('a wait that is longer than the turn is not waited for, and the caller is told how long it is', async t => {
  const waits = prints(retry(429, { retryAfterMs: 90_000 }))
  const came = await oneTurn({ engine, cli: script(waits + lives) })
  t.is(came.code, 'rate_limited')
  t.like(came.outcome, { left: { retryAfterMs: 90_000 } })
  t.true(came.ms < 20_000)
})

test('a turn whose time is up while its CLI tries again failed for that cause, whatever it spent before', async t => {
  const usage = { kind: 'usage', scope: 'step', usage: { inputTokens: 10, outputTokens: 1 } }
  const settings = { timeoutMs: 1500 }
  const came = await oneTurn({ engine, cli: script(prints(usage, retry(500, { reason: '' })) + lives), settings })
  t.is(came.code, 'engine_cli')
  t.is(came.sentence, 'The CLI tries again and again: status 500.')
  t.deepEqual(came.cost, { microUsd: 20, basis: 'priced' })
  const worked = prints(retry(500), { kind: 'text', text: 'on' })
  const slow = await oneTurn({ engine, cli: script(worked + lives), settings })
  t.is(slow.code, 'timeout')
  t.is(slow.sentence, 'No answer within 1.5 s, the "timeout" of the instance; the turn was ended.')
})

test('what the engine reads on stderr counts like a record', async t => {
  const heard: string[] = []
  const source = `process.stderr.write('\\u001b[31mRETRY 4'); process.stderr.write('01\\u001b[0m\\nchatter\\nRETRY 401\\n'); ${lives}`
  const came = await oneTurn({
    engine: {
      ...engine,
      decodeError: line => {
        heard.push(line)
        return line === 'RETRY 401' ? [{ kind: 'retry', status: 401, reason: line }] : []
      },
    },
    cli: script(source),
  })
  t.is(came.code, 'auth')
  t.deepEqual(heard, ['RETRY 401', 'chatter', 'RETRY 401'])
  const boom = (): never => {
    throw new Error('boom')
  }
  const broken = await oneTurn({ engine: { ...engine, decodeError: boom }, cli: script(source) })
  t.is(broken.code, 'invalid_handler_response')
  t.regex(broken.sentence, /engine plain is at fault: decodeError threw: boom/)
})

test('the last line of stderr is heard too, without its end', async t => {
  const decodeError = (line: string) => [{ kind: 'result', ok: false, error: line, status: 401 } as const]
  const came = await oneTurn({ engine: { ...engine, decodeError }, cli: script(`process.stderr.write('no key')`) })
  t.is(came.code, 'auth')
  t.is(came.sentence, 'no key')
})

const login = { keys: [], how: 'plain login' }

test('a CLI that waits for a person is ended, says what to run, and tells no address', async t => {
  for (const stream of ['stdout', 'stderr']) {
    const source = `process.${stream}.write('No API key found. Starting login flow...\\nhttps://x.example/auth?token=s3cret\\n'); ${lives}`
    const came = await oneTurn({ engine: { ...engine, login }, cli: script(source) })
    t.is(came.code, 'auth')
    const said = 'The CLI of plain waits for a person: "No API key found. Starting login flow...". Run "plain login".'
    t.is(came.sentence, said)
    t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
    t.true(came.ms >= 5000 && came.ms < 30_000, `${came.ms} ms`)
  }
})

test('a question without a line end is one', async t => {
  const source = `process.stdout.write('Do you trust the files in this folder? [y/N] '); ${lives}`
  const came = await oneTurn({ engine, cli: script(source) })
  t.is(came.code, 'auth')
  t.regex(came.sentence, /Do you trust the files in this folder\?.*once by hand in /)
})

test('a CLI that asks and goes on is let go on; in the words of an answer there are no questions', async t => {
  const asks = `console.log('Press Enter to continue'); console.error('Opening browser');`
  const late = `setTimeout(() => { ${prints({ kind: 'text', text: 'x' })} }, 300); setTimeout(() => { ${prints(answers('good'))} }, 6500)`
  const [record, text] = await Promise.all([
    oneTurn({ engine, cli: script(asks + late) }),
    oneTurn({ engine: command, cli: script(`${asks} setTimeout(() => console.log('good'), 6500)`) }),
  ])
  t.is(record.text, 'good', record.sentence)
  t.is(text.text, 'Press Enter to continue\ngood', text.sentence)
  const answered = prints({ kind: 'text', text: 'working' }) + asks
  const worked = await oneTurn({ engine, cli: script(answered + lives), settings: { timeoutMs: 6500 } })
  t.is(worked.code, 'timeout', 'whoever works needs no login')
})

test('an address in a failure is told without its query', async t => {
  const source = `console.error('error: see https://x.example/login?token=s3cret-s3cret#frag for more'); process.exit(1)`
  t.is((await oneTurn({ engine, cli: script(source) })).sentence, 'error: see https://x.example/login?… for more')
})

test('a turn that opens a browser opens none', async t => {
  const opened = aPath('opened')
  const source = `require('child_process').execFileSync('/bin/sh', ['-c', '$BROWSER https://x.example']); console.log('done')`
  const came = await oneTurn({
    engine: command,
    cli: script(source),
    environment: { BROWSER: `/usr/bin/touch ${opened}` },
  })
  t.is(came.text, 'done')
  t.false(existsSync(opened))
})
