import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import { checkPorts } from '../config/check-ports.ts'
import type { Config, InstanceConfig, Mistakes } from '../config/config.ts'
import { type Loaded, loadInstances } from '../config/load.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { chosen } from './launch.ts'

export interface Checked {
  readonly mistakes: Mistakes
  readonly warnings: readonly string[]
}

/**
 * Whether its instances (or these) could run now: engines load, folders and files exist, CLIs are found; everything that
 * is wrong, of every instance. A port that is in use is a warning here, since the instance itself may use it.
 */
export const check =
  (config: Config, where: Surroundings, only?: readonly string[]): T.Task<Checked> =>
  async () => {
    const wanted = chosen(config, only)
    if (E.isLeft(wanted)) return { mistakes: wanted.left, warnings: config.warnings }
    const [looked, ports] = await Promise.all([
      Promise.all(wanted.right.map(one => look(config, one, where))),
      checkPorts(wanted.right)(),
    ])
    return {
      mistakes: looked.flatMap(({ mistakes }) => mistakes),
      warnings: [
        ...config.warnings,
        ...looked.flatMap(({ warnings }) => warnings),
        ...ports.map(({ sentence }) => sentence),
      ],
    }
  }

const look = async (config: Config, one: InstanceConfig, where: Surroundings): Promise<Checked> => {
  const loaded = await loadInstances(config, [one], where)()
  if (E.isLeft(loaded)) return { mistakes: loaded.left, warnings: [] }
  return {
    mistakes: loaded.right.flatMap(({ lacks }) =>
      lacks.map(({ sentence }): Failure => failure('engine_cli', sentence)),
    ),
    warnings: loaded.right.flatMap(one => (one.instance.enabled ? unwise(one) : [])),
  }
}

/** What is no mistake, but costs more than its owner may think. */
export const unwise = (one: Loaded): readonly string[] => [...uncapped(one), ...unpriced(one)]

// More than one turn at once without a cap is told when budgets.json is read.
const uncapped = ({ instance: { name, limits, concurrency } }: Loaded): readonly string[] =>
  limits.budget?.microUsd === undefined || limits.maxTurnMicroUsd !== undefined || concurrency > 1
    ? []
    : [
        `instances.${name} has a limit in dollars, but no maxTurnUsd: each turn holds all the money that is left, and one that is ` +
          'cut off is charged with all of it. Set maxTurnUsd.',
      ]

// Tokens alone are priced by the model.
const unpriced = (one: Loaded): readonly string[] => {
  const { name, limits, settings } = one.instance
  const limited = [limits.budget?.microUsd, limits.total?.microUsd, limits.maxTurnMicroUsd].some(
    usd => usd !== undefined,
  )
  if (!limited || pricedBy(one) !== 'nobody') return []
  const { model } = settings
  return [
    `instances.${name}: ${model === undefined ? 'no model is named' : `no price of "${model}" is known`}, so unless its CLI tells one ` +
      'what its turns cost is unknown, and each is charged with all that it holds. Set "model", "price", or limits in tokens or turns.',
  ]
}

/** Who knows what a turn costs: budgets.json, the CLI, the engine, a price list; or nobody, for this model. */
export const pricedBy = ({
  instance,
  priceOf,
}: Loaded): 'budgets.json' | 'the CLI' | 'the engine' | 'the price list' | 'nobody' => {
  const { engine, model, price } = instance.settings
  if (price !== undefined) return 'budgets.json'
  // A program that is no provider's CLI costs what it reports, else nothing.
  if (engine.tellsUsd === true || engine.output === 'text') return 'the CLI'
  if (priceOf(sample, model) === 'unknown') return 'nobody'
  return engine.price === undefined ? 'the price list' : 'the engine'
}

const sample = { inputTokens: 1, outputTokens: 1 }
