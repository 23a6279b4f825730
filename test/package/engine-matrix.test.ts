import fs from 'node:fs'
import test from 'ava'
import { matrixOf, withMatrix } from '../../scripts/engine-matrix.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { engineNames } from '../../src/engine/load.ts'

const page = fs.readFileSync(new URL('../../docs/engines.md', import.meta.url), 'utf8')

test('the tables of docs/engines.md are those of the engines', async t => {
  t.is(page, await withMatrix(page), 'An engine says something else now: `npm run docs` writes the tables anew.')
  for (const name of engineNames) t.regex(page, new RegExp(`^\\| \`${name}\` \\|`, 'm'))
})

test('a page that lost its marks is not written over', async t => {
  await t.throwsAsync(withMatrix('# Engines\n'), { message: /marks/ })
})

const engine = (more: Partial<Engine>): Engine => ({
  name: 'mine',
  cli: 'mine',
  output: 'json',
  command: ({ cli: [file = ''], prompt, model, access, session, instructions = '' }) => ({
    file,
    args: [
      ...['--json', access === 'full' ? '--a|b' : '--safe'],
      ...(model === undefined ? [] : ['-m', model]),
      ...(session === undefined ? [] : ['--resume', session]),
    ],
    stdin: `${instructions}${prompt}`,
    env: { MINE_ACCESS: access ?? 'none' },
    files: access === 'write' ? { 'rules.json': '{}' } : {},
  }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli', sentence: '' }),
  ...more,
})

test('what a setting does is read off the command that it makes', t => {
  const told = matrixOf([engine({ resumes: true, cannotTell: ['It counts no tokens.'] })])
  for (const row of [
    '| `mine` |  | stdin | tokens × `price` | `--resume ID` | no | its whole tree is ended |',
    '| `mine` | `mine --json --safe` | `MINE_ACCESS=read` | `MINE_ACCESS=write`, the file `rules.json` | `--a\\|b`, without `--safe`, `MINE_ACCESS=full` |',
    '| `mine` | `-m MODEL` | before the prompt | watched from outside | as it is |',
    '- `mine`: It counts no tokens.',
  ]) {
    t.true(told.split('\n').includes(row), `${row}\n\n${told}`)
  }
})

test('an engine that puts the prompt on its command line gets no table', t => {
  const open = engine({ command: ({ cli: [file = ''], prompt }) => ({ file, args: [prompt], stdin: '' }) })
  t.throws(() => matrixOf([open]), { message: /mine puts the prompt/ })
})
