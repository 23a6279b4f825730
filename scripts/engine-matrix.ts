import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import type { Command, Engine, EngineTask } from '../src/engine/engine.ts'
import { engineNames, loadEngine } from '../src/engine/load.ts'

// The tables over the CLIs in docs/engines.md, from the engines themselves: `npm run docs` writes them anew.

const file = fileURLToPath(new URL('../docs/engines.md', import.meta.url))
const begin = '<!-- The tables from here on are written by `npm run docs`. -->'
const end = '<!-- Up to here. -->'

/** The page with its tables written anew. */
export const withMatrix = async (page: string): Promise<string> => {
  const [before, rest] = [page.slice(0, page.indexOf(begin)), page.slice(page.indexOf(end))]
  if (!page.includes(begin) || !page.includes(end)) throw new Error('docs/engines.md has lost the marks of its tables.')
  return `${before}${begin}\n\n${matrixOf(await engines())}\n\n${rest}`
}

const engines = async (): Promise<readonly Engine[]> => {
  const loaded = await Promise.all(engineNames.map(name => loadEngine(name, '/')()))
  return loaded.flatMap(one => (E.isRight(one) ? [one.right] : []))
}

export const matrixOf = (all: readonly Engine[]): string => {
  const clis = all.filter(({ cli }) => cli !== undefined)
  return [
    table(
      ['engine', 'checked against', 'the prompt', 'dollars', 'goes on with a session', 'MCP server', 'cancel'],
      all.map(factsRow),
    ),
    'What `access` adds to its command line; unset is the choice of the CLI, and of your own settings of it:',
    table(['engine', 'starts as', '`read`', '`write`', '`full`'], clis.map(accessRow)),
    'What the other settings add:',
    table(
      ['engine', '`model`', '`instructions`', 'what is left of the budget', 'a prompt that begins with `/`'],
      clis.map(settingsRow),
    ),
    'Variables, besides the usual ones:',
    table(['engine', 'let through', 'set', 'logged in by'], clis.map(variablesRow)),
    ...unknowable(clis),
  ].join('\n\n')
}

const unknowable = (clis: readonly Engine[]): readonly string[] => {
  const all = clis.flatMap(({ name, cannotTell = [] }) => cannotTell.map(sentence => `- \`${name}\`: ${sentence}`))
  return all.length === 0 ? [] : ['What nobody can learn of it from outside:', all.join('\n')]
}

const factsRow = (engine: Engine): readonly string[] => {
  const { name, checkedAgainst = '', tellsUsd, provider, output, resumes, takesMcp } = engine
  const added = (more: Partial<EngineTask>): string => difference(engine, more)
  const dollars = tellsUsd === true || output === 'text' ? 'as it tells them' : 'tokens × price list'
  return [
    code(name),
    checkedAgainst,
    promptWay(engine),
    provider === undefined && output === 'json' && tellsUsd !== true ? 'tokens × `price`' : dollars,
    resumes === true ? added({ session: 'ID' }) : 'no',
    takesMcp === true ? added({ mcp }) : 'no',
    'its whole tree is ended',
  ]
}

const accessRow = (engine: Engine): readonly string[] => [
  code(engine.name),
  code([commandOf(engine, {}).file, ...commandOf(engine, {}).args.map(short)].join(' ')),
  ...(['read', 'write', 'full'] as const).map(access => difference(engine, { access })),
]

const settingsRow = (engine: Engine): readonly string[] => [
  code(engine.name),
  difference(engine, { model: 'MODEL' }),
  engine.instructions === 'prompt' ? 'before the prompt' : difference(engine, { instructions: 'TEXT' }),
  difference(engine, { capMicroUsd: 250_000 }, 'watched from outside'),
  engine.slashCommands === true ? 'gets a line before it' : 'as it is',
]

const variablesRow = (engine: Engine): readonly string[] => {
  const { env = [], login } = engine
  const names = typeof env === 'function' ? env(undefined) : env
  const by = login === undefined ? [] : [...login.keys.map(code), ...statusOf(engine), ...(login.files ?? []).map(code)]
  return [
    code(engine.name),
    names.map(name => (name === '{provider}' ? 'the keys of the provider of `model`' : code(name))).join(', ') +
      (typeof env === 'function' ? '; of keys, those of the model alone' : ''),
    assignments(commandOf(engine, {}).env ?? {})
      .map(code)
      .join(', '),
    by.join(', '),
  ]
}

const statusOf = ({ cli = '', login }: Engine): readonly string[] =>
  login?.status === undefined ? [] : [code([cli, ...login.status].join(' '))]

const mcp: NonNullable<EngineTask['mcp']> = { name: 'errand', command: '/errand', args: ['mcp'], env: ['ERRAND_TOKEN'] }

const commandOf = (engine: Engine, more: Partial<EngineTask>): Command =>
  engine.command({ prompt, cli: [engine.cli ?? 'PROGRAM'], args: [], cwd: '/', folder: '/FOLDER', ...more })

const prompt = 'PROMPT'

const promptWay = (engine: Engine): string => {
  const { args, stdin } = commandOf(engine, {})
  if (args.some(arg => arg.includes(prompt))) throw new Error(`${engine.name} puts the prompt on its command line.`)
  return stdin.includes(prompt) ? 'stdin' : 'a file'
}

/** What of the command is other where the task has this too. */
const difference = (engine: Engine, more: Partial<EngineTask>, nothing = 'nothing'): string => {
  const [plain, other] = [commandOf(engine, {}), commandOf(engine, more)]
  const added = notIn(plain.args, other.args)
  const taken = notIn(other.args, plain.args)
  const variables = notIn(assignments(plain.env ?? {}), assignments(other.env ?? {}))
  const files = Object.entries(other.files ?? {}).filter(([name, content]) => plain.files?.[name] !== content)
  const parts = [
    ...(added.length > 0 ? [code(added.map(short).join(' '))] : []),
    ...(taken.length > 0 ? [`without ${code(taken.map(short).join(' '))}`] : []),
    ...variables.map(text => code(short(text))),
    ...files.map(([name]) => `the file ${code(name)}`),
    ...(other.stdin === plain.stdin ? [] : ['before the prompt']),
  ]
  return parts.length === 0 ? nothing : parts.join(', ')
}

/** Those of `more` that `some` lacks, each as often as it lacks it. */
const notIn = (some: readonly string[], more: readonly string[]): readonly string[] => {
  const left = [...some]
  return more.filter(word => {
    const at = left.indexOf(word)
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
}

const assignments = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(variables).map(([name, value]) => `${name}=${value}`)

const short = (word: string): string => (word.length > longest ? `${word.slice(0, longest)}…` : word)
const longest = 60

// A bar would end the cell, also inside of code.
const code = (text: string): string => `\`${text.replaceAll('|', '\\|').replaceAll('`', "'").replaceAll('\n', ' ')}\``

const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(file, await withMatrix(readFileSync(file, 'utf8')))
}
