import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import command from '../../engines/command.ts'
import type { Engine, EngineTask } from '../../src/engine/engine.ts'
import { type Asked, aPath, oneTurn, script } from './one-turn.ts'

/** The task of a turn, as its engine gets it. */
const taskOf = async (engine: Partial<Engine>, asked: Partial<Asked> = {}): Promise<Partial<EngineTask>> => {
  let told: EngineTask | undefined
  await oneTurn({
    engine: {
      ...command,
      ...engine,
      command: task => {
        told = task
        return command.command(task)
      },
    },
    cli: ['/bin/true'],
    ...asked,
  })
  return told ?? {}
}

const looksInto = (folder: string): readonly string[] =>
  script(`
    const fs = require('fs'); const mode = path => (fs.statSync(path).mode & 0o777).toString(8); const folder = ${JSON.stringify(folder)}
    const all = fs.readdirSync(folder).map(name => [name, mode(folder + '/' + name), fs.readFileSync(folder + '/' + name, 'utf8')])
    console.log(JSON.stringify([mode(folder), ...all]))
    fs.mkdirSync(folder + '/deep/er', { recursive: true }); fs.writeFileSync(folder + '/deep/er/left', 'x')`)

const withFiles = (files: Readonly<Record<string, string>>): Engine => ({
  ...command,
  command: task => ({ ...command.command(task), files }),
})

test('a turn has a folder of its own with the files of its command, and leaves nothing of it', async t => {
  const turnFolder = aPath('folder')
  const came = await oneTurn({
    engine: withFiles({ 'mcp.json': '{"naïve":1}', '.b': '' }),
    cli: looksInto(turnFolder),
    turnFolder,
  })
  t.deepEqual(JSON.parse(came.text ?? ''), ['700', ['.b', '600', ''], ['mcp.json', '600', '{"naïve":1}']])
  t.false(existsSync(turnFolder))
})

test('the folder is gone too after a turn that never started or was cut', async t => {
  const turnFolder = aPath('folder')
  const engine = withFiles({ 'settings.json': '{}' })
  const never = await oneTurn({ engine, cli: ['no-such-program'], turnFolder })
  t.is(never.code, 'engine_cli')
  t.false(existsSync(turnFolder))
  const cut = await oneTurn({ engine, cli: ['/bin/sleep', '60'], turnFolder, settings: { timeoutMs: 200 } })
  t.is(cut.code, 'timeout')
  t.false(existsSync(turnFolder))
})

test('a folder that is there already is somebody else’s: nothing starts, and it is left alone', async t => {
  const turnFolder = aPath('folder')
  mkdirSync(turnFolder)
  writeFileSync(join(turnFolder, 'theirs'), 'x')
  const came = await oneTurn({ engine: command, cli: ['/bin/cat'], turnFolder })
  t.is(came.code, 'internal_error')
  t.regex(came.sentence, /^The folder of a turn cannot be made: EEXIST/)
  t.deepEqual(came.cost, { microUsd: 0, basis: 'none' })
  t.is(readFileSync(join(turnFolder, 'theirs'), 'utf8'), 'x')
})

test('where the folder of all turns was tidied away, it is made anew, and no other above it', async t => {
  const all = aPath('all')
  const come = (folder: string) => oneTurn({ engine: command, cli: ['/bin/cat'], turnFolder: join(folder, 'turn') })
  t.is((await come(all)).text, 'hi')
  t.deepEqual(readdirSync(all), [])
  t.is((await come(join(aPath('gone'), 'all'))).code, 'internal_error')
})

test('a file can be named in that folder alone', async t => {
  for (const name of ['../x', 'a/b', '..', '.', '...', '', 'a\0b', 'a\\b', 'x'.repeat(101), 'naïve']) {
    const turnFolder = aPath('folder')
    const came = await oneTurn({ engine: withFiles({ [name]: 'x' }), cli: ['/bin/cat'], turnFolder })
    t.is(came.code, 'invalid_handler_response', name)
    t.regex(came.sentence, /engine command is at fault: command answered wrongly.*plain file names/, name)
    t.false(existsSync(turnFolder))
  }
})

test('the folder, a session, and a server for those that take one reach the engine', async t => {
  const turnFolder = aPath('folder')
  const mcp = { name: 'errand', command: '/bin/errand', args: ['mcp'], env: ['ERRAND_TOKEN'] }
  const asked = { turnFolder, mcp, resume: { session: 's-1' } }
  t.like(await taskOf({ takesMcp: true }, asked), { folder: turnFolder, session: 's-1', mcp })
  t.false('mcp' in (await taskOf({}, asked)))
  const plain = await taskOf({ takesMcp: true }, { turnFolder: aPath('folder') })
  t.false('session' in plain || 'mcp' in plain)
})

test('instructions go by a flag where they fit, else before the prompt, between tags', async t => {
  const ask = (engine: Partial<Engine>, instructions: string, prompt = 'hi') =>
    taskOf(engine, { settings: { instructions }, prompt })
  const before = (instructions: string, prompt = 'hi') =>
    `<instructions>\n${instructions}\n</instructions>\n\n${prompt}`
  const [fits, long] = ['i'.repeat(20_000), 'i'.repeat(20_001)]
  const json = { output: 'json' } as const

  t.like(await ask(json, fits), { prompt: 'hi', instructions: fits })
  t.like(await ask(json, long), { prompt: before(long), instructions: undefined })
  t.like(await ask({ ...json, instructions: 'prompt' }, 'short'), { prompt: before('short'), instructions: undefined })
  t.like(await ask({ ...json, instructions: 'prompt' }, ''), { prompt: 'hi', instructions: undefined })
  t.like(await ask({}, long), { prompt: 'hi', instructions: long }, 'a text program gets its bytes untouched')

  const slashes = { ...json, slashCommands: true }
  t.regex((await ask(slashes, fits, '/cost')).prompt ?? '', /^The following request begins with a slash.*\n\n\/cost$/)
  t.is((await ask(slashes, long, '/cost')).prompt, before(long, '/cost'), 'the slash does not lead any more')
})
