import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf, sayMismatch } from '../protocol/decode.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { oneLine } from '../protocol/failure.ts'
import type { Engine, Login, SessionLog } from './engine.ts'

/**
 * The engine that `budgets.json` names: a built-in one, or a person's own file (`./my-engine.ts`), seen from the folder of
 * budgets.json. The left is a sentence for the person: what, where, what to do.
 */
export const loadEngine = (name: string, fromFolder: string): TE.TaskEither<string, Engine> => {
  const builtIn = builtIns.get(name)
  if (builtIn !== undefined) return TE.fromTask(async () => (await builtIn()).default)
  if (!isFile(name)) return TE.left(`There is no engine "${name}".${near(name)} ${choice}`)
  return fromFile(resolve(fromFolder, name))
}

// A line for each file in engines/.
const builtIns: ReadonlyMap<string, () => Promise<{ readonly default: Engine }>> = new Map([
  ['claude', () => import('../../engines/claude.ts')],
  ['codex', () => import('../../engines/codex.ts')],
  ['copilot', () => import('../../engines/copilot.ts')],
  ['command', () => import('../../engines/command.ts')],
  ['gemini', () => import('../../engines/gemini.ts')],
  ['opencode', () => import('../../engines/opencode.ts')],
  ['pi', () => import('../../engines/pi.ts')],
  ['qwen', () => import('../../engines/qwen.ts')],
])

/** As `budgets.json` may name them. */
export const engineNames: readonly string[] = [...builtIns.keys()]

const choice = `Engines are ${engineNames.join(', ')}, or a file of your own such as "./my-engine.ts" (docs/engines.md).`

const isFile = (name: string): boolean => /[/\\]|\.[cm]?[jt]s$/.test(name)

// `claud`, and `claude-code`, by which the program's package is known.
const near = (name: string): string => {
  const inside = name
    .toLowerCase()
    .split(/[^a-z]+/)
    .find(word => builtIns.has(word))
  return didYouMean(inside ?? name, engineNames)
}

const fromFile = (path: string): TE.TaskEither<string, Engine> =>
  pipe(
    TE.tryCatch(
      () => stat(path),
      error =>
        isAbsent(error)
          ? `There is no engine file ${path}. Mend "engine" in budgets.json.`
          : `The engine file ${path} cannot be read: ${said(error)}.`,
    ),
    TE.chain(() =>
      TE.tryCatch(
        (): Promise<unknown> => import(pathToFileURL(path).href),
        error => `The engine file ${path} could not be loaded: ${said(error)}. Mend the file.`,
      ),
    ),
    TE.chainEitherK(module => decodeEngine(module, path)),
  )

const decodeEngine = (module: unknown, path: string): E.Either<string, Engine> =>
  pipe(
    decode(engineModule, module),
    E.bimap(
      wrong =>
        `The engine file ${path} is no engine: ${wrong.map(sayMismatch).join('; ')}. See "Write an engine" in docs/engines.md.`,
      ({ default: engine }) => engine,
    ),
  )

const isString = (value: unknown): value is string => typeof value === 'string'
const word = leaf('a non-empty string', (value): value is string => isString(value) && value.trim() !== '')
const words = leaf(
  'a list of strings',
  (value): value is readonly string[] => Array.isArray(value) && value.every(isString),
)
const output = leaf('"json" or "text"', (value): value is Engine['output'] => value === 'json' || value === 'text')
const flag = leaf('true or false', (value): value is boolean => typeof value === 'boolean')

const names = leaf(
  'a list of strings, or a function of a model',
  (value): value is NonNullable<Engine['env']> => typeof value === 'function' || words.is(value),
)
const where = leaf(
  '"flag" or "prompt"',
  (value): value is NonNullable<Engine['instructions']> => value === 'flag' || value === 'prompt',
)

/** What a function gives back is seen only when it is called: a turn judges it then. */
const method = <Member extends (...given: never[]) => unknown>(of: string): t.Type<Member, Member, unknown> =>
  leaf(`a function ${of}`, (value): value is Member => typeof value === 'function')

const login: t.Type<Login, Login, unknown> = t.intersection([
  t.type({ keys: words, how: word }),
  t.partial({ status: words, files: words }),
])

const log: t.Type<SessionLog, SessionLog, unknown> = t.type({
  files: method<SessionLog['files']>('of a run'),
  decode: method<SessionLog['decode']>('of a record and a run'),
})

const engineModule = t.type({
  default: t.intersection([
    t.type({
      name: word,
      output,
      command: method<Engine['command']>('of a task'),
      decode: method<Engine['decode']>('of a record'),
      classify: method<Engine['classify']>('of an end'),
    }),
    t.partial({
      cli: word,
      install: word,
      env: names,
      slashCommands: flag,
      instructions: where,
      checkedAgainst: word,
      provider: word,
      tellsUsd: flag,
      resumes: flag,
      takesMcp: flag,
      login,
      cannotTell: words,
      decodeError: method<NonNullable<Engine['decodeError']>>('of a line'),
      price: method<NonNullable<Engine['price']>>('of a usage'),
      log,
    }),
  ]),
})

const isAbsent = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

const said = (error: unknown): string =>
  oneLine(error instanceof Error ? error.message : String(error)).replace(/[.\s]+$/, '')
