import path from 'node:path'
import { operator } from '../bus/identity.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import type { Config } from './config.ts'
import { askableBy } from './reach.ts'

/** What is unwise in a sound budgets.json: whole sentences. */
export const warningsOf = (config: Omit<Config, 'warnings'>): readonly string[] => [
  ...strangePeers(config),
  ...pointlessConcurrency(config),
  ...vainDelegation(config),
  ...withinReach(config),
  ...visibleState(config),
  ...openBus(config),
]

const strangePeers = ({ instances }: Omit<Config, 'warnings'>): readonly string[] =>
  [...instances.values()].flatMap(({ name, peers }) =>
    peers
      .filter(peer => peer !== '*' && peer !== operator && !instances.has(peer))
      .map(
        peer =>
          `instances.${name}.peers names "${peer}", which budgets.json does not define.${didYouMean(peer, instances.keys())}`,
      ),
  )

const pointlessConcurrency = ({ instances, total }: Omit<Config, 'warnings'>): readonly string[] =>
  [...instances.values()]
    .filter(
      ({ concurrency, limits }) =>
        concurrency > 1 &&
        (limits.budget?.microUsd ?? total?.microUsd) !== undefined &&
        limits.maxTurnMicroUsd === undefined,
    )
    .map(
      ({ name, concurrency }) =>
        `instances.${name} has concurrency ${concurrency} and a limit in dollars, but no maxTurnUsd: each turn holds all ` +
        'the money that is left, so turns run one after another. Set maxTurnUsd.',
    )

// Beside a budget of its own it holds no more than that, and of all together something may be left.
const vainDelegation = (config: Omit<Config, 'warnings'>): readonly string[] =>
  [...config.instances.values()]
    .filter(
      ({ name, enabled, concurrency, limits }) =>
        enabled &&
        config.total?.microUsd !== undefined &&
        limits.budget?.microUsd === undefined &&
        limits.maxTurnMicroUsd === undefined &&
        concurrency === 1 &&
        askableBy(config, name).length > 0,
    )
    .map(
      ({ name }) =>
        `instances.${name} may ask others, but has no maxTurnUsd: its turn holds all the money of all instances, so that none ` +
        'is left for whom it asks. Set maxTurnUsd.',
    )

const withinReach = ({ file, instances }: Omit<Config, 'warnings'>): readonly string[] =>
  [...instances.values()].flatMap(instance => {
    if (instance.access !== 'write' && instance.access !== 'full') return []
    const theirs = [...instances.values()]
    const precious = new Map([
      [file, 'budgets.json'],
      ...theirs.flatMap(({ name, engine }): [string, string][] =>
        isEngineFile(engine) ? [[path.resolve(path.dirname(file), engine), `the engine of ${name}`]] : [],
      ),
      ...theirs.flatMap(({ name, cli = [] }): [string, string][] =>
        cli.filter(part => path.isAbsolute(part)).map(part => [part, `the program of ${name}`]),
      ),
    ])
    return [...precious]
      .filter(([where]) => isWithin(where, instance.cwd))
      .map(
        ([where, what]) =>
          `instances.${instance.name} may write where ${what} lies (${where}), and so could change its own limits. ` +
          'Give it another cwd, or "access": "read".',
      )
  })

const visibleState = ({ instances, stateFolder }: Omit<Config, 'warnings'>): readonly string[] => {
  const seeing = [...instances.values()].filter(({ cwd }) => isWithin(stateFolder, cwd)).map(({ name }) => name)
  return seeing.length === 0
    ? []
    : [
        `The state folder ${stateFolder} lies where ${seeing.join(', ')} works, with the bus secret in it. Let bus.stateDir ` +
          'name a folder outside, or leave it out.',
      ]
}

const openBus = ({ secret }: Omit<Config, 'warnings'>): readonly string[] =>
  secret
    ? []
    : ['bus.secret is false: every program on this machine can talk to these instances, by any name that it claims.']

export const isEngineFile = (engine: string): boolean => /[/\\]|\.[cm]?[jt]s$/.test(engine)

export const isWithin = (where: string, folder: string): boolean => {
  const way = path.relative(folder, where)
  return way === '' || (way.split(path.sep)[0] !== '..' && !path.isAbsolute(way))
}
