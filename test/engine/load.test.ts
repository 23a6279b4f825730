import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { engineNames, loadEngine } from '../../src/engine/load.ts'

const sound = `{
  name: 'mine',
  output: 'text',
  command: ({ cli: [file], prompt }) => ({ file, args: [], stdin: prompt }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli', sentence: '' }),
}`

const folderWith = async (t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-load-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

test('every built-in engine is whole, and is named as it is called', async t => {
  const files = await readdir(join(import.meta.dirname, '..', '..', 'engines'))
  t.deepEqual(engineNames.map(name => `${name}.ts`).toSorted(), files.toSorted())
  for (const name of engineNames) {
    const loaded = await loadEngine(name, '/nowhere')()
    t.is(E.isRight(loaded) && loaded.right.name, name)
  }
})

const files: readonly (readonly [file: string, text: string])[] = [
  ['mine.mjs', `export default ${sound}`],
  ['mine.js', `export default ${sound}`],
  [
    'mine.ts',
    `interface Task { cli: readonly string[]; prompt: string }
     const engine = ${sound.replace('({ cli: [file], prompt })', '({ cli: [file], prompt }: Task)')}
     export default engine`,
  ],
  ['mine.mts', `export default ${sound} satisfies object`],
]

for (const [file, text] of files) {
  test(`a person's own ${file}, seen from the folder of budgets.json`, async t => {
    const folder = await folderWith(t, { [file]: text, 'package.json': '{ "type": "module" }' })
    const loaded = await loadEngine(`./${file}`, folder)()
    t.is(E.isRight(loaded) && loaded.right.name, 'mine', E.isLeft(loaded) ? loaded.left : '')
    const absolute = await loadEngine(join(folder, file), '/nowhere')()
    t.true(E.isRight(absolute))
  })
}

test('an engine may be an object with its members on a class', async t => {
  const folder = await folderWith(t, {
    'mine.mjs': `class Mine {
      name = 'mine'; output = 'text'
      command({ prompt }) { return { file: this.name, args: [], stdin: prompt } }
      decode() { return [] }
      classify() { return { code: 'engine_cli', sentence: this.name } }
    }
    export default new Mine()`,
  })
  const loaded = await loadEngine('./mine.mjs', folder)()
  if (E.isLeft(loaded)) return t.fail(loaded.left)
  t.is(loaded.right.classify({ noise: '', stderr: '' }).sentence, 'mine')
})

test('an engine may have all members, and a name for each model', async t => {
  const folder = await folderWith(t, {
    'mine.mjs': `export default {
      ...${sound},
      env: model => [model + '_KEY'],
      instructions: 'prompt',
      resumes: true,
      takesMcp: false,
      login: { keys: ['KEY'], status: ['login', 'status'], files: ['~/.mine'], how: 'mine login' },
      cannotTell: ['It does not tell its model.'],
      decodeError: () => [],
      log: { files: () => [], decode: () => [] },
    }`,
  })
  const loaded = await loadEngine('./mine.mjs', folder)()
  if (E.isLeft(loaded)) return t.fail(loaded.left)
  const { env, login } = loaded.right
  t.deepEqual(typeof env === 'function' && env('x'), ['x_KEY'])
  t.is(login?.how, 'mine login')
})

const without = (member: RegExp): string => `export default ${sound.replace(member, '')}`
const having = (members: string): string => `export default { ...${sound}, ${members} }`

const refused: readonly (readonly [what: string, text: string, says: readonly string[]])[] = [
  ['throws', `throw new Error('no such key\\n    at line 3')`, ['could not be loaded', 'no such key', 'Mend the file']],
  ['throws what is no error', `throw 'a bare string'`, ['could not be loaded', 'a bare string']],
  ['is no JavaScript', `export default {`, ['could not be loaded']],
  ['imports what is not there', `import './gone.mjs'; export default ${sound}`, ['could not be loaded', 'gone.mjs']],
  ['has no default export', `export const engine = ${sound}`, ['default must be', 'not missing']],
  ['exports a function', `export default () => (${sound})`, ['default must be']],
  ['has no name', without(/name: 'mine',/), ['default.name must be a non-empty string, not missing']],
  ['lacks classify', without(/classify: .*/), ['default.classify must be a function of an end, not missing']],
  ['has a decode that is a list', having('decode: []'), ['default.decode must be a function of a record, not a list']],
  ['has another output', having(`output: 'xml'`), ['default.output must be "json" or "text", not "xml"']],
  ['has a wrong env', having(`env: 'KEY'`), ['default.env must be a list of strings, or a function of a model']],
  [
    'has instructions of its own',
    having(`instructions: 'be brief'`),
    ['default.instructions must be "flag" or "prompt"'],
  ],
  ['has a login without a way', having(`login: { keys: [] }`), ['default.login.how must be a non-empty string']],
  [
    'has half a log',
    having(`log: { files: () => [] }`),
    ['default.log.decode must be a function of a record and a run'],
  ],
  ['is wrong twice', having(`output: 1, cli: ''`), ['default.output must be', 'default.cli must be']],
]

for (const [what, text, says] of refused) {
  test(`a file that ${what}: a sentence with its path`, async t => {
    const folder = await folderWith(t, { 'mine.mjs': text })
    const loaded = await loadEngine('./mine.mjs', folder)()
    if (E.isRight(loaded)) return t.fail('it was taken')
    for (const part of [join(folder, 'mine.mjs'), ...says])
      t.true(loaded.left.includes(part), `${part} in: ${loaded.left}`)
    t.false(/\n| at file:/.test(loaded.left), `no stack in: ${loaded.left}`)
  })
}

test('a file that is not there', async t => {
  const folder = await folderWith(t, {})
  const loaded = await loadEngine('./gone.ts', folder)()
  t.true(E.isLeft(loaded) && loaded.left.includes(join(folder, 'gone.ts')) && loaded.left.includes('Mend "engine"'))
})

const unknown: readonly (readonly [name: string, meant: string | undefined])[] = [
  ['claud', 'claude'],
  ['claude-code', 'claude'],
  ['Codex', 'codex'],
  ['comand', 'command'],
  ['command-line', 'command'],
  ['cursor', undefined],
  ['__proto__', undefined],
  ['constructor', undefined],
]

for (const [name, meant] of unknown) {
  test(`no engine is named ${name}: ${meant === undefined ? 'the list' : `did you mean ${meant}?`}`, async t => {
    const loaded = await loadEngine(name, '/nowhere')()
    if (E.isRight(loaded)) return t.fail('it was taken')
    t.true(loaded.left.includes(`There is no engine "${name}".`))
    t.true(loaded.left.includes(engineNames.join(', ')))
    t.is(/Did you mean "(\w+)"/.exec(loaded.left)?.[1], meant)
  })
}
