import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import type { Engine, LoggedRun } from '../../src/engine/engine.ts'
import { logFilesOf } from '../../src/engine/log-files.ts'
import { aPath, oneTurn, script } from './one-turn.ts'
import { answers, lives, plain, prints } from './plain-engine.ts'

const usage = (inputTokens: number, more: object = {}): object => ({
  ...{ kind: 'usage', scope: 'step', model: 'from-the-log' },
  ...{ usage: { inputTokens, outputTokens: 0 }, ...more },
})

/** Its log's records are its events as well. */
const logging = (files: (run: LoggedRun) => readonly string[], more: Partial<Engine> = {}): Engine =>
  plain({ log: { files, decode: plain().decode }, ...more })

const writes = (path: string, ...events: readonly object[]): string =>
  `require('fs').appendFileSync(${JSON.stringify(path)}, ${JSON.stringify(`${JSON.stringify({ events })}\n`)});`

test('what a turn that was cut had used is read from the log of its session', async t => {
  const folder = aPath('logs')
  mkdirSync(join(folder, 'day', 'deep'), { recursive: true })
  const runs: LoggedRun[] = []
  const engine = logging(run => {
    runs.push(run)
    return [`${folder}/*/de*p/roll-*-${run.session ?? 'none'}.jsonl`]
  })
  const log = join(folder, 'day', 'deep', 'roll-1-s1.jsonl')
  writeFileSync(join(folder, 'day', 'deep', 'roll-1-other.jsonl'), JSON.stringify({ events: [usage(5_000_000)] }))
  const source = `${writes(log, usage(100), usage(20))} ${prints({ kind: 'session', id: 's1' })} ${lives}`
  const came = await oneTurn({ engine, cli: script(source), settings: { timeoutMs: 1000 } })
  t.is(came.code, 'timeout')
  t.deepEqual(came.cost, { microUsd: 120, basis: 'priced' })
  t.is(came.tokens, 120)
  t.is(came.model, 'from-the-log')
  const { startedAtMs, ...run } = runs.at(-1) ?? { startedAtMs: 0 }
  t.like(run, { session: 's1', environment: { BROWSER: 'true' } })
  t.true(startedAtMs > 1_600_000_000_000 && startedAtMs <= Date.now())
})

test('a log in the folder of the turn is read before that is gone', async t => {
  const engine = logging(({ folder }) => [join(folder, 'usage.json')], {
    command: ({ cli: [file = '', ...args], prompt, folder }) => ({ file, args, stdin: prompt, env: { WHERE: folder } }),
  })
  const object = JSON.stringify({ events: [usage(7)] }, null, 2)
  const source = `require('fs').writeFileSync(process.env.WHERE + '/usage.json', ${JSON.stringify(object)}); ${prints(answers('x'))}`
  const turnFolder = aPath('turn')
  const came = await oneTurn({ engine, cli: script(source), turnFolder })
  t.is(came.text, 'x')
  t.deepEqual(came.cost, { microUsd: 7, basis: 'priced' })
  t.false(existsSync(turnFolder))
})

test('where the CLI told dollars for a whole turn, nobody looks for a log', async t => {
  let asked = 0
  const count = (): readonly string[] => {
    asked++
    return []
  }
  const engine = logging(count, { tellsUsd: true })
  const source = prints(answers('x'), { kind: 'cost', scope: 'turn', usd: 0.5 })
  const came = await oneTurn({ engine, cli: script(source) })
  t.deepEqual(came.cost, { microUsd: 500_000, basis: 'reported' })
  t.is(asked, 0)
})

test('a CLI that tells only its log that it is refused is ended as if it had said so', async t => {
  const log = aPath('log.jsonl')
  const engine = logging(() => [log], { classify: () => ({ code: 'engine_cli', sentence: '' }) })
  const refused = { kind: 'retry', status: 401, reason: 'invalid key' }
  const came = await oneTurn({
    engine,
    cli: script(writes(log, refused, refused) + lives),
    settings: { timeoutMs: 60_000 },
  })
  t.is(came.code, 'auth')
  t.is(came.sentence, 'invalid key')
})

test('a log that is missing, damaged or misread is none', async t => {
  const damaged = aPath('damaged.jsonl')
  writeFileSync(damaged, 'no json\n{"events":[')
  const boom = (): never => {
    throw new Error('boom')
  }
  const sound = aPath('sound.jsonl')
  writeFileSync(sound, JSON.stringify({ events: [usage(9)] }))
  const engines: readonly [string, Engine][] = [
    ['missing', logging(() => ['/no/such/*/file'])],
    ['damaged', logging(() => [damaged])],
    ['files throws', logging(boom)],
    ['files answers wrongly', logging(() => ['not/absolute'])],
    ['decode throws', plain({ log: { files: () => [sound], decode: boom } })],
  ]
  for (const [title, engine] of engines) {
    const came = await oneTurn({ engine, cli: script(prints({ kind: 'text', text: 'x' }, answers('x'))) })
    t.is(came.text, 'x', title)
    t.deepEqual(came.cost, { microUsd: 0, basis: 'unknown' }, title)
  }
})

test('a CLI that tells only its log what it spends is ended past what is held', async t => {
  const log = aPath('session.jsonl')
  const seen: number[] = []
  const source = `const fs = require('fs'); ${writes(log, usage(600))} setTimeout(() => { ${writes(log, usage(600))} }, 1500); ${lives}`
  const came = await oneTurn({
    engine: logging(() => [log]),
    cli: script(source),
    allowance: { microUsd: 1000 },
    onSeen: microUsd => void seen.push(microUsd),
  })
  t.is(came.code, 'budget_exhausted', came.sentence)
  t.regex(came.sentence, /^Budget exhausted: \$0\.0012 used of \$0\.001/)
  t.deepEqual([seen[0], seen.at(-1)], [600, 1200])
  t.deepEqual(came.cost, { microUsd: 1200, basis: 'priced' })
})

test('only the newest few regular files are read, of the size of a log', async t => {
  const folder = aPath('many')
  mkdirSync(join(folder, 'a-folder.jsonl'), { recursive: true })
  for (let at = 0; at < 20; at++) writeFileSync(join(folder, `log-${at}.jsonl`), '')
  symlinkSync(join(folder, 'log-0.jsonl'), join(folder, 'link.jsonl'))
  t.is((await logFilesOf([`${folder}/*.jsonl`, `${folder}/*`])).length, 16)
  t.deepEqual(await logFilesOf([`${folder}/link.jsonl`, `${folder}/a-folder.jsonl`, '/dev/null', '/dev/zero']), [])
  t.deepEqual(await logFilesOf([`${folder}/log-1*9.jsonl`]), [join(folder, 'log-19.jsonl')])
  t.deepEqual(await logFilesOf([`${folder}/log-1*19.jsonl`, `${folder}/*og-*-*`]), [])
  t.is((await logFilesOf([`${folder}/l*g-*7.*l`])).length, 2)
})
