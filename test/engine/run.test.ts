import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import claude from '../../engines/claude.ts'
import command from '../../engines/command.ts'
import type { Engine, EngineEnd, EngineTask } from '../../src/engine/engine.ts'
import { processesWithMark } from '../../src/process/mark.ts'
import { failure } from '../../src/protocol/failure.ts'
import { aMark, aPath, fake, isGone, logged, oneTurn, script, until } from './one-turn.ts'
import { answers, lives, plain, prints } from './plain-engine.ts'

test('a command gets its prompt byte for byte, and its output is the answer but for one line end', async t => {
  const echo = (prompt: string) => oneTurn({ engine: command, cli: ['/bin/cat'], prompt })
  for (const [prompt, text] of [
    ['/x', '/x'],
    ['two\n\n', 'two\n'],
    ['crlf\r\n', 'crlf'],
    [' naïve 😀 \t', ' naïve 😀 \t'],
  ] as const) {
    const came = await echo(prompt)
    t.is(came.text, text)
    t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
  }
})

test('a command that prints nothing has not answered, whatever its exit status', async t => {
  const silent = await oneTurn({ engine: command, cli: ['/bin/true'] })
  t.is(silent.code, 'engine_cli')
  t.regex(silent.sentence, /without an answer/)
  const blank = await oneTurn({ engine: command, cli: script('console.log(" ")') })
  t.is(blank.code, 'engine_cli')
  const failed = await oneTurn({
    engine: command,
    cli: script('console.log("half"); console.error("boom"); process.exit(3)'),
  })
  t.is(failed.code, 'engine_cli')
  t.regex(failed.sentence, /boom/)
  t.deepEqual(failed.cost, { microUsd: 0, basis: 'none' })
})

test('a command says what it spends while it runs, in a file of its own that is then removed', async t => {
  const seen: (readonly [number, number])[] = []
  const where = aPath('where')
  const noticed = aPath('noticed')
  const source = `
    const fs = require('fs'); const file = process.env.ERRAND_REPORT
    fs.writeFileSync(${JSON.stringify(where)}, file + ' ' + (fs.statSync(file).mode & 0o777).toString(8) + ' ' + fs.statSync(file).size)
    fs.appendFileSync(file, '{"usd":0.01,"tokens":1200,"model":"tiny"}\\n')
    process.stdin.on('data', () => {}).on('end', () => {
      setInterval(() => { if (fs.existsSync(${JSON.stringify(noticed)})) { fs.appendFileSync(file, '{"usd":0.02,"tokens":300}'); console.log('done'); process.exit() } }, 20)
    })`
  const came = await oneTurn({
    engine: command,
    cli: script(source),
    onSeen: (microUsd, tokens) => {
      seen.push([microUsd, tokens])
      writeFileSync(noticed, '')
    },
  })
  t.is(came.text, 'done')
  t.deepEqual(came.cost, { microUsd: 30_000, basis: 'reported' })
  t.is(came.tokens, 1500)
  t.is(came.model, 'tiny')
  t.deepEqual(seen, [
    [10_000, 1200],
    [30_000, 1500],
  ])
  const [file = '', mode, size] = readFileSync(where, 'utf8').split(' ')
  t.is(mode, '600')
  t.is(size, '0')
  t.false(existsSync(file))
})

test('a line of the report that nobody can read is a cost that nobody knows', async t => {
  for (const line of ['{"usd":-5}', '{"usd":"0.4"}', 'garbage', '{"usd":1e999}', '{"tokens":"many"}', '[1']) {
    const source = `require('fs').appendFileSync(process.env.ERRAND_REPORT, ${JSON.stringify(`{"usd":0.01}\n${line}`)}); console.log('x')`
    const came = await oneTurn({ engine: command, cli: script(source) })
    t.deepEqual(came.cost, { microUsd: 10_000, basis: 'unknown' }, line)
  }
})

test('a report that was removed or replaced is a cost that nobody knows', async t => {
  const told = `const fs = require('fs'); const file = process.env.ERRAND_REPORT; fs.appendFileSync(file, '{"usd":0.01}\\n'); console.log('x');`
  for (const then of [
    'fs.rmSync(file)',
    `fs.rmSync(file); fs.writeFileSync(file, '{"usd":0.5}\\n')`,
    `fs.writeFileSync(file + '.new', '{"usd":0.5}\\n'); fs.renameSync(file + '.new', file)`,
  ]) {
    const came = await oneTurn({ engine: command, cli: script(`${told} ${then}`) })
    t.deepEqual(came.cost, { microUsd: 10_000, basis: 'unknown' }, then)
  }
})

test('of a report that is longer than 1 MiB the rest is a cost that nobody knows', async t => {
  // Each line has 16 bytes, so that the limit falls on the end of one.
  const told = (lines: number) =>
    `require('fs').writeFileSync(process.env.ERRAND_REPORT, '{"usd":0.00001}\\n'.repeat(${lines})); console.log('x')`
  const all = 1024 * 64
  const whole = await oneTurn({ engine: command, cli: script(told(all)) })
  t.deepEqual(whole.cost, { microUsd: 10 * all, basis: 'reported' })
  const longer = await oneTurn({ engine: command, cli: script(told(all + 1)) })
  t.deepEqual(longer.cost, { microUsd: 10 * all, basis: 'unknown' })
})

test('a folder in the place of a report is a cost that nobody knows, and is removed', async t => {
  const source = `const fs = require('fs'); const file = process.env.ERRAND_REPORT;
    fs.rmSync(file); fs.mkdirSync(file); fs.writeFileSync(file + '/x', ''); console.log(file)`
  const came = await oneTurn({ engine: command, cli: script(source) })
  t.deepEqual(came.cost, { microUsd: 0, basis: 'unknown' })
  t.false(existsSync(came.text ?? ''))
})

test('a price per turn is what each turn costs that started', async t => {
  const settings = { price: { perTurn: 0.05 } }
  const cost = { microUsd: 50_000, basis: 'priced' as const }
  t.deepEqual((await oneTurn({ engine: command, cli: ['/bin/cat'], settings })).cost, cost)
  t.deepEqual((await oneTurn({ engine: command, cli: ['/bin/false'], settings })).cost, cost)
  t.deepEqual((await oneTurn({ engine: command, cli: ['no-such-program'], settings })).cost, {
    microUsd: 0,
    basis: 'none',
  })
})

test('what is missing is named: the program, its folder, its interpreter, its mode', async t => {
  const install = 'Install it.'
  const sentence = async (cli: readonly string[], settings = {}) => {
    const came = await oneTurn({ engine: { ...command, install }, cli: [...cli, 'an-argument'], settings })
    t.is(came.code, 'engine_cli')
    t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
    t.notRegex(came.sentence, /an-argument/)
    return came.sentence
  }
  t.is(await sentence(['no-such-program']), 'The program no-such-program was not found on PATH. Install it.')
  const tooLong = ['/bin/echo', 'x'.repeat(2_000_000)]
  t.is(await sentence(tooLong), 'The program /bin/echo could not be started (E2BIG).', 'nothing to install')
  t.is(await sentence(['/no/such/program']), 'The program /no/such/program does not exist. Install it.')
  t.regex(await sentence(['/bin/cat'], { cwd: '/no/such/folder' }), /folder \/no\/such\/folder.*does not exist/)
  t.regex(await sentence(['/bin/cat'], { cwd: '/bin/cat' }), /folder \/bin\/cat.*is no folder/)
  const strange = aPath('strange')
  writeFileSync(strange, '#!/no/such/interpreter\n', { mode: 0o755 })
  t.regex(await sentence([strange]), /interpreter/)
  const plainFile = aPath('plain')
  writeFileSync(plainFile, 'text', { mode: 0o644 })
  t.regex(await sentence([plainFile]), /EACCES/)
})

test('a turn that was cancelled before it began starts nothing', async t => {
  const marker = aPath('started')
  const came = await oneTurn({
    engine: command,
    cli: ['/usr/bin/touch', marker],
    cancel: AbortSignal.abort(failure('instance_unavailable', 'Not any more.')),
  })
  t.is(came.code, 'instance_unavailable')
  t.is(came.sentence, 'Not any more.')
  t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
  t.false(existsSync(marker))
})

test('past what is held the tree ends within two seconds, also one that ignores TERM', async t => {
  const source = `process.on('SIGTERM', () => {});
    ${prints({ kind: 'text', text: 'so far' }, { kind: 'cost', scope: 'step', usd: 0.2 })}
    setTimeout(() => { ${prints({ kind: 'cost', scope: 'step', usd: 0.2 })} }, 20); ${lives}`
  let passedAt = 0
  const came = await oneTurn({
    engine: plain(),
    cli: script(source),
    allowance: { microUsd: 250_000 },
    onSeen: () => {
      passedAt = performance.now()
    },
  })
  const ms = performance.now() - passedAt
  t.is(came.code, 'budget_exhausted')
  t.regex(came.sentence, /^Budget exhausted: \$0\.4000 used of \$0\.25\./)
  t.deepEqual(came.cost, { microUsd: 400_000, basis: 'unknown' })
  t.is(came.partialText, 'so far')
  t.true(ms < 2000, `${ms} ms`)
})

test('tokens are a limit too, and reaching a limit is not passing it', async t => {
  const usage = (inputTokens: number) => ({ kind: 'usage', scope: 'step', usage: { inputTokens, outputTokens: 0 } })
  const over = await oneTurn({ engine: plain(), cli: script(prints(usage(11)) + lives), allowance: { tokens: 10 } })
  t.is(over.code, 'budget_exhausted')
  t.regex(over.sentence, /11 tokens used of 10/)
  const exact = await oneTurn({
    engine: plain(),
    cli: script(prints(usage(10)) + prints(answers('x'))),
    allowance: { tokens: 10, microUsd: 10 },
  })
  t.is(exact.text, 'x')
})

test('a result outweighs what comes after it: a bad exit, a signal, more spending, the end of time', async t => {
  const cost = { kind: 'cost', scope: 'turn', usd: 9 }
  for (const then of ['process.exit(7)', 'process.kill(process.pid, "SIGKILL")', `${prints(cost)}process.exit(1)`]) {
    const came = await oneTurn({
      engine: plain(),
      cli: script(prints(answers('good')) + then),
      allowance: { microUsd: 1 },
    })
    t.is(came.text, 'good', came.sentence)
  }
  const cancel = new AbortController()
  const late = await oneTurn({
    engine: plain({
      decode: record => {
        setImmediate(() => cancel.abort())
        return plain().decode(record)
      },
    }),
    cli: script(`process.on('SIGTERM', () => {}); ${prints(cost, answers('good'))} ${lives}`),
    settings: { graceMs: 100 },
    cancel: cancel.signal,
  })
  t.is(late.text, 'good', late.sentence)
  t.deepEqual(late.cost, { microUsd: 9_000_000, basis: 'reported' })
})

test('a process that lives on after its final result is ended, and the result stands', async t => {
  const pids: number[] = []
  const cli = script(prints(answers('good')) + lives)
  const came = await oneTurn({ engine: plain(), cli, onStarted: ({ pid }) => void pids.push(pid) })
  t.is(came.text, 'good')
  t.true(came.ms >= 5000)
  t.true(isGone(pids[0]))
})

test('a result that comes only after our signal does not undo it, but its cost counts', async t => {
  const source = `process.on('SIGTERM', () => { ${prints({ kind: 'cost', scope: 'turn', usd: 0.5 }, answers('late'))} process.exit(0) }); ${prints({ kind: 'text', text: 'up' })} ${lives}`
  const cancel = new AbortController()
  const heard: string[] = []
  const engine = plain({
    decode: record => {
      heard.push('record')
      cancel.abort(failure('cancelled', 'Enough.'))
      return plain().decode(record)
    },
  })
  const came = await oneTurn({ engine, cli: script(source), cancel: cancel.signal })
  t.is(heard.length, 2)
  t.is(came.code, 'cancelled')
  t.deepEqual(came.cost, { microUsd: 500_000, basis: 'reported' })
})

test('the host is told before the first signal, which waits for it, but not for ever', async t => {
  const told: string[] = []
  const cancel = new AbortController()
  const source = `process.on('SIGTERM', () => { require('fs').appendFileSync(process.env.FAKE_LOG, '{"event":"term"}\\n'); process.exit(0) }); require('fs').appendFileSync(process.env.FAKE_LOG, '{"event":"up"}\\n'); ${lives}`
  const log = aPath('log')
  void until(() => logged(log).length > 0).then(() => cancel.abort())
  const came = await oneTurn({
    engine: plain(),
    cli: script(source),
    environment: { FAKE_LOG: log },
    cancel: cancel.signal,
    onEnding: async () => {
      told.push(`signals before: ${logged(log).length - 1}`)
      await new Promise(() => undefined)
    },
  })
  t.deepEqual(told, ['signals before: 0'])
  t.is(came.code, 'cancelled')
  t.is(came.sentence, 'The turn was cancelled.')
})

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux('what left the group is found by its mark: after a forced end at once, after a quiet one soon', async t => {
  const leaves = `setsid sh -c 'echo $$ > "$FAKE_LOG"; exec sleep 60' > /dev/null 2>&1 & while [ ! -s "$FAKE_LOG" ]; do sleep 0.02; done;`
  const wrote = (log: string): boolean => existsSync(log) && readFileSync(log, 'utf8').endsWith('\n')
  const ask = (mark: string, then: string, log: string, cancel: AbortSignal) =>
    oneTurn({
      engine: command,
      cli: ['/bin/sh', '-c', `${leaves} ${then}`],
      mark,
      environment: { FAKE_LOG: log },
      settings: { graceMs: 200 },
      cancel,
    })
  const [forced, log, cancel] = [aMark(), aPath('left'), new AbortController()]
  void until(() => wrote(log)).then(() => cancel.abort())
  t.is((await ask(forced, 'sleep 60', log, cancel.signal)).code, 'cancelled')
  t.true(isGone(readFileSync(log, 'utf8')))
  t.deepEqual(await processesWithMark([forced]), [])

  const [quiet, other] = [aMark(), aPath('left')]
  t.is((await ask(quiet, 'echo fine', other, new AbortController().signal)).text, 'fine')
  await until(async () => (await processesWithMark([quiet])).length === 0)
  t.true(isGone(readFileSync(other, 'utf8')))
})

test('something outside the group that holds the pipes keeps a turn for two seconds and no longer', async t => {
  const source = `setsid sleep 60 & echo answer`
  const came = await oneTurn({ engine: command, cli: ['/bin/sh', '-c', source] })
  t.is(came.text, 'answer')
  t.true(came.ms < 10_000)
})

test('the last words before the exit are heard, however many there are', async t => {
  const cli = script(`process.stdout.write('x'.repeat(3000000) + 'end', () => process.exit(0))`)
  for (let round = 0; round < 5; round++) {
    const came = await oneTurn({ engine: command, cli })
    t.is(came.text?.length, 3_000_003)
    t.true(came.text?.endsWith('end'))
  }
})

test('an answer longer than the limit is refused, and says how to raise it', async t => {
  const cli = script(`process.stdout.write('x'.repeat(5000)); ${lives}`)
  const came = await oneTurn({ engine: command, cli, settings: { lineLimitBytes: 4096 } })
  t.is(came.code, 'engine_cli')
  t.regex(came.sentence, /an answer of more than 4 KiB.*"lineLimit"/)
})

test('an answer said in pieces has the same limit: short pieces make a long one', async t => {
  const piece = { kind: 'text', text: 'x'.repeat(500), delta: true }
  const much = `for (let i = 0; i < 10; i++) ${prints(piece)}`
  const settings = { lineLimitBytes: 4096 }
  const came = await oneTurn({ engine: plain(), cli: script(much + lives), settings })
  t.regex(came.sentence, /an answer of more than 4 KiB.*"lineLimit"/)
  const tools = `for (let i = 0; i < 10; i++) ${prints(piece, { kind: 'tool', name: 'x' })}`
  t.is(
    (await oneTurn({ engine: plain(), cli: script(tools + prints(piece, answers(''))), settings })).text?.length,
    500,
  )
})

test('an engine that throws or answers nonsense is at fault itself, and what it started is ended', async t => {
  const pids: number[] = []
  const cli = script(prints({ kind: 'text', text: 'x' }) + lives)
  const boom = (): never => {
    throw new Error('boom')
  }
  const fling = (what: unknown): never => {
    throw what
  }
  const wrong = <A>(value: unknown): A => JSON.parse(JSON.stringify(value))
  const faults: readonly [string, Partial<Engine>, (readonly string[])?][] = [
    ['command throws', { command: boom }],
    ['command answers wrongly', { command: () => wrong({ file: 1, args: 'x' }) }],
    ['decode throws', { decode: boom }],
    ['decode throws what has no text', { decode: () => fling(Object.create(null)) }],
    ['decode answers wrongly', { decode: () => wrong([{ kind: 'result', ok: 'yes' }]) }],
    ['decode answers no list', { decode: () => wrong({}) }],
    ['classify throws', { classify: boom }, ['/bin/false']],
    ['classify answers wrongly', { classify: () => wrong({ code: 'no_such_code', sentence: 'x' }) }, ['/bin/false']],
  ]
  for (const [title, more, other = cli] of faults) {
    const onStarted = ({ pid }: { readonly pid: number }) => void pids.push(pid)
    const came = await oneTurn({ engine: plain(more), cli: other, onStarted })
    t.is(came.code, 'invalid_handler_response', title)
    t.regex(came.sentence, new RegExp(`engine plain is at fault: ${title.split(' ')[0]} `), title)
    if (title === 'decode answers wrongly')
      t.regex(came.sentence, /an event of kind "result" with the members kind, ok must be as docs\/engines\.md/)
  }
  t.true(pids.every(isGone))
  const pricey = await oneTurn({
    engine: plain(),
    cli: script(prints({ kind: 'usage', scope: 'turn', usage: { inputTokens: 1, outputTokens: 1 } }, answers('x'))),
    priceOf: boom,
  })
  t.deepEqual(pricey.cost, { microUsd: 0, basis: 'unknown' })
})

test('a classifier hears how it ended, without control bytes; a sentence tells no secret', async t => {
  let end: EngineEnd | undefined
  const engine = plain({
    env: ['MY_*'],
    classify: told => {
      end = told
      return { code: 'engine_cli', sentence: `key ${'s3cret-value'} token turn-token-0123456789 ${told.stderr}` }
    },
  })
  const source = `console.log('plain \\u001b[31mtext\\u001b[0m'); console.error('\\u0007red alert s3cret-value'); ${prints({ kind: 'retry', status: 529 })} process.exit(4)`
  const came = await oneTurn({ engine, cli: script(source), environment: { MY_API_KEY: 's3cret-value' } })
  t.is(end?.exitCode, 4)
  t.is(end?.noise.trim(), 'plain text')
  t.is(end?.stderr.trim(), 'red alert s3cret-value')
  t.like(end?.retry, { status: 529 })
  t.notRegex(came.sentence, /s3cret-value|turn-token/)
  t.regex(came.sentence, /red alert/)
})

test('stderr is drained whatever it says, and a chatty one costs no memory', async t => {
  const came = await oneTurn({ engine: claude, cli: fake('OUT-12'), environment: { FAKE_KB: '20000', FAKE_EXIT: '1' } })
  t.is(came.code, 'engine_cli')
  t.true(Buffer.byteLength(came.sentence) <= 2048)
})

test('a refused write fails the turn, except where nothing was to be written', async t => {
  const cli = script(prints({ kind: 'denied', what: 'Write a.txt' }, answers('I could not.')))
  for (const access of [undefined, 'write', 'full'] as const) {
    const came = await oneTurn({ engine: plain(), cli, settings: access === undefined ? {} : { access } })
    t.is(came.code, 'write_permission')
    t.regex(came.sentence, /Write a\.txt/)
  }
  const read = await oneTurn({ engine: plain(), cli, settings: { access: 'read' } })
  t.is(read.text, 'I could not.')
  t.like(read.outcome, { right: { denied: ['Write a.txt'] } })
})

test('the engine is given the task, and a cap where the turn has one', async t => {
  const tasks: EngineTask[] = []
  const engine = plain({
    command: task => {
      tasks.push(task)
      return plain().command(task)
    },
  })
  await oneTurn({
    engine,
    cli: script(prints(answers('x'))),
    allowance: { microUsd: 5 },
    settings: { model: 'm', args: ['-a'] },
  })
  t.like(tasks[0], { prompt: 'hi', args: ['-a'], model: 'm', capMicroUsd: 5 })
})

test('when the host is killed hard, its next start ends what it left', async t => {
  const url = (path: string) => new URL(`../../src/${path}`, import.meta.url).href
  const mark = aMark()
  const log = aPath('log')
  const host = `
    const { oneTurn, fake } = await import(${JSON.stringify(new URL('./one-turn.ts', import.meta.url).href)})
    const claude = (await import(${JSON.stringify(new URL('../../engines/claude.ts', import.meta.url).href)})).default
    void oneTurn({ engine: claude, cli: fake('PROC-02'), mark: ${JSON.stringify(mark)}, environment: { FAKE_LOG: ${JSON.stringify(log)} },
      onStarted: ({ pid, startTime }) => console.log(JSON.stringify({ pid, startTime })) })
    const fs = await import('node:fs')
    const wait = setInterval(() => { if (fs.existsSync(${JSON.stringify(log)}) && fs.readFileSync(${JSON.stringify(log)}, 'utf8').includes('gpid')) process.kill(process.pid, 'SIGKILL') }, 10)`
  // It cannot clean up after itself.
  const temporary = aPath('host')
  mkdirSync(temporary)
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', host], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: temporary },
  })
  t.is(signal, 'SIGKILL')
  // The CLI may have died of its broken pipe; what it started has not.
  t.true((await processesWithMark([mark])).length >= 1)
  const { endOrphan } = await import(url('engine/reap.ts'))
  await endOrphan(mark, JSON.parse(stdout))
  t.deepEqual(await processesWithMark([mark]), [])
  t.true(logged(log).every(({ pid, gpid = pid }) => isGone(gpid)))
})

test.serial('after its turns a process has no more open files than before', async t => {
  const open = () => readdirSync('/proc/self/fd').length
  await Promise.all(Array.from({ length: 5 }, () => oneTurn({ engine: command, cli: ['/bin/cat'] })))
  const before = open()
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 10 }, () => oneTurn({ engine: command, cli: ['/bin/cat'] })))
  }
  await until(() => open() <= before + 2)
  t.pass()
})
