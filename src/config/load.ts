import { readFile } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Instance } from '../bus/instance.ts'
import type { Engine } from '../engine/engine.ts'
import { loadEngine } from '../engine/load.ts'
import { loadPricer } from '../engine/prices.ts'
import type { PriceOf } from '../engine/settings.ts'
import { failure } from '../protocol/failure.ts'
import type { Config, InstanceConfig, Mistakes } from './config.ts'
import { isFolder } from './is-folder.ts'
import { shellWord, whereProgram } from './program.ts'
import { askableBy } from './reach.ts'
import type { Surroundings } from './surroundings.ts'
import { whyUnreadable } from './why-unreadable.ts'

/** An instance that can be served. */
export interface Loaded {
  readonly instance: Instance
  readonly priceOf: PriceOf
  /** What would make its turns fail, although it can be launched. */
  readonly lacks: readonly Lack[]
}

export interface Lack {
  /** For people: what, where, what to do. */
  readonly sentence: string
  /** The command that mends it, where there is one. */
  readonly mend?: string
}

const graceMs = 1500

/** Engines and instructions of these instances, or everything that is wrong with them. */
export const loadInstances =
  (
    config: Config,
    wanted: readonly InstanceConfig[],
    where: Surroundings,
  ): TE.TaskEither<Mistakes, readonly Loaded[]> =>
  async () => {
    const engines = once((name: string) => loadEngine(name, config.folder)())
    const files = once(readInstructions)
    const all = await Promise.all(
      wanted.map(async one => {
        const [engine, instructions] = await Promise.all([
          engines(one.engine),
          one.instructionsFile === undefined ? E.right(undefined) : files(one.instructionsFile),
        ])
        const mistakes = [...leftOf(engine), ...leftOf(instructions)]
        if (E.isLeft(engine) || E.isLeft(instructions)) return { mistakes: mistakes.map(what => wrongIn(one, what)) }
        return load(config, one, engine.right, instructions.right, where)
      }),
    )
    const mistakes = all.flatMap(one => ('mistakes' in one ? one.mistakes : []))
    return mistakes.length > 0
      ? E.left(mistakes.map(sentence => failure('invalid_request', `${config.file}: ${sentence}`)))
      : E.right(all.flatMap(one => ('mistakes' in one ? [] : [one])))
  }

const load = async (
  all: Config,
  config: InstanceConfig,
  engine: Engine,
  instructions: string | undefined,
  where: Surroundings,
): Promise<Loaded | { readonly mistakes: readonly string[] }> => {
  const cli = config.cli ?? (engine.cli === undefined ? [] : [engine.cli])
  if (cli.length === 0) {
    return { mistakes: [wrongIn(config, `the engine "${config.engine}" names no program, so "cli" must.`)] }
  }
  const settings = {
    engine,
    cli,
    args: config.args,
    cwd: config.cwd,
    env: config.env,
    timeoutMs: config.timeoutMs,
    graceMs,
    lineLimitBytes: config.lineLimitBytes,
    ...(config.model === undefined ? {} : { model: config.model }),
    ...(config.access === undefined ? {} : { access: config.access }),
    ...(config.price === undefined ? {} : { price: config.price }),
    ...(instructions === undefined ? {} : { instructions }),
  }
  const { name, enabled, peers, maxDepth, port, concurrency, queueLimit, queueTimeoutMs, maxTurnsPerRoot } = config
  const facts = { name, enabled, peers, maxDepth, port, concurrency, queueLimit, queueTimeoutMs, maxTurnsPerRoot }
  const more = {
    ...(config.delegates ? { asks: askableBy(all, name) } : {}),
    ...(config.description === undefined ? {} : { description: config.description }),
    ...(config.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: config.idleTimeoutMs }),
  }
  return {
    instance: { ...facts, ...more, limits: config.limits, settings },
    priceOf: await loadPricer(settings),
    // One that is disabled starts nothing.
    lacks: enabled ? await missing(config, engine, cli, where) : [],
  }
}

const missing = async (
  { name, cwd }: InstanceConfig,
  engine: Engine,
  [program = '']: readonly string[],
  where: Surroundings,
): Promise<readonly Lack[]> => {
  const folder = await isFolder(cwd)()
  const found = await whereProgram(program, where.environment)()
  const { install = 'Install it, or correct its path.' } = engine
  return [
    ...(folder
      ? []
      : [
          {
            sentence: `instances.${name}: there is no folder ${cwd}, so its turns will fail. Make it, or mend "cwd".`,
            mend: `mkdir -p ${shellWord(cwd)}`,
          },
        ]),
    ...(found !== undefined
      ? []
      : [
          {
            sentence: `instances.${name}: its program "${program}" is not found, so its turns will fail. ${install}`,
            ...commandIn(install),
          },
        ]),
  ]
}

/** The command that a sentence such as `Install it with "npm install …"` names. */
export const commandIn = (sentence: string): { readonly mend?: string } => {
  const [, mend] = /"((?:npm|npx|pipx?|brew|cargo) [^"]+)"/.exec(sentence) ?? []
  return mend === undefined ? {} : { mend }
}

const readInstructions = async (file: string): Promise<E.Either<string, string>> => {
  try {
    return E.right(await readFile(file, 'utf8'))
  } catch (error) {
    return E.left(`the instructions ${file} cannot be read (${whyUnreadable(error)}).`)
  }
}

const wrongIn = ({ name }: InstanceConfig, what: string): string => `instances.${name}: ${what}`

const leftOf = (either: E.Either<string, unknown>): readonly string[] => (E.isLeft(either) ? [either.left] : [])

/** A hundred instances of one engine load it once. */
const once = <A>(read: (key: string) => Promise<A>): ((key: string) => Promise<A>) => {
  const known = new Map<string, Promise<A>>()
  return key => {
    const found = known.get(key) ?? read(key)
    known.set(key, found)
    return found
  }
}
