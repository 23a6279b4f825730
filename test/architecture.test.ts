import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'

const top = fileURLToPath(new URL('..', import.meta.url))

const filesUnder = (folder: string): readonly string[] =>
  readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => join(folder, file))

const files = [...filesUnder('src'), ...filesUnder('engines')].map(file => {
  const text = readFileSync(join(top, file), 'utf8')
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const imports = [...code.matchAll(/(?:from\s+|import\s*\(?\s*)'([^']+)'/g)].map(([, from = '']) => from)
  return { file, text, code, imports }
})

const floors: Readonly<Record<string, number>> = {
  protocol: 0,
  store: 1,
  process: 1,
  budget: 1,
  engine: 2,
  bus: 3,
  client: 4,
  config: 5,
  launch: 6,
  work: 7,
  mcp: 7,
  cli: 8,
}

const floorOf = (file: string): number => {
  const [root = '', folder = ''] = file.split('/')
  if (root === 'engines') return floors['engine'] ?? Number.NaN
  return folder === 'index.ts' ? 9 : (floors[folder] ?? Number.NaN)
}

const relativeImports = files.flatMap(({ file, imports }) =>
  imports
    .filter(from => from.startsWith('.'))
    .map(from => ({ file, target: relative(top, resolve(top, dirname(file), from)) })),
)

test('every folder of src has its floor', t => {
  t.true(files.length > 30)
  for (const { file } of files) t.false(Number.isNaN(floorOf(file)), file)
})

test('imports only go down', t => {
  t.true(relativeImports.length > 50)
  for (const { file, target } of relativeImports) {
    t.true(floorOf(target) <= floorOf(file), `${file} imports ${target} from a floor above`)
  }
})

test('no file imports itself by a detour', t => {
  const graph = new Map(
    files.map(({ file }) => [file, relativeImports.filter(i => i.file === file).map(i => i.target)]),
  )
  const state = new Map<string, 'open' | 'done'>()
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === 'done') return
    t.not(state.get(file), 'open', `cycle: ${[...path, file].join(' → ')}`)
    if (state.get(file) === 'open') return
    state.set(file, 'open')
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    state.set(file, 'done')
  }
  for (const { file } of files) visit(file, [])
})

const importers = (pattern: RegExp): readonly string[] =>
  files.filter(({ imports }) => imports.some(from => pattern.test(from))).map(({ file }) => file)

test('one place spawns, one folder serves, one folder opens the store', t => {
  t.deepEqual(importers(/^execa$/), ['src/engine/run.ts'])
  t.deepEqual(
    importers(/^(node:)?child_process$/).filter(file => !file.startsWith('src/process/')),
    [],
  )
  for (const file of importers(/^(koa|@koa\/router|node:http)$/)) t.regex(file, /^src\/(bus|client)\//)
  for (const file of importers(/^(koa|@koa\/router)$/)) t.regex(file, /^src\/bus\//)
  for (const file of importers(/^@modelcontextprotocol\//)) t.regex(file, /^src\/mcp\//)
  t.deepEqual(importers(/\bmcp\/serve\.ts$/), ['src/cli/mcp.ts'])
  for (const file of importers(/^node:sqlite$/)) t.regex(file, /^src\/store\//)
})

test('an engine file is types and itself', t => {
  for (const { file, code } of files.filter(({ file }) => file.startsWith('engines/'))) {
    const values = [...code.matchAll(/^import (?!type )[^\n]*/gm)].map(([line]) => line)
    t.deepEqual(values, [], file)
    t.is([...code.matchAll(/^export default /gm)].length, 1, file)
  }
})

test('below config, time, environment and folder come in as arguments', t => {
  const worldly = /\bprocess\.(env|cwd|exit)\b|\bDate\.now\(|\bnew Date\(\)/
  for (const { file, code } of files.filter(({ file }) => floorOf(file) < 5)) t.notRegex(code, worldly, file)
})

test('only the public door re-exports', t => {
  for (const { file, code } of files.filter(({ file }) => file !== 'src/index.ts')) {
    t.notRegex(code, /^export (type )?(\*|\{[^}]*\}) from/m, file)
  }
})

test('libraries are imported by the path that works in plain Node', t => {
  for (const { file, imports } of files) {
    for (const from of imports) t.notRegex(from, /^(fp-ts|io-ts)(\/(?!lib\/)|$)/, file)
  }
})

test('files stay small, and none is named for nothing', t => {
  for (const { file, text } of files) {
    t.true(text.split('\n').length <= 220, `${file} has grown past one screenful of ideas`)
    t.notRegex(file, /util|helper|common|manager|service|\/types\.ts/i)
    t.notRegex(text, /\bas any\b|: any\b|@ts-(ignore|expect-error)|\bTODO\b|\bFIXME\b/, file)
  }
})
