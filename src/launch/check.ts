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
    mistakes: loaded.right.flatMap(({ warnings }) => warnings.map((what): Failure => failure('engine_cli', what))),
    warnings: loaded.right.flatMap(one => (one.instance.enabled ? [...uncapped(one), ...unpriced(one)] : [])),
  }
}

// More than one turn at once without a cap is told when budgets.json is read.
const uncapped = ({ instance: { name, limits, concurrency } }: Loaded): readonly string[] =>
  limits.budget?.microUsd === undefined || limits.maxTurnMicroUsd !== undefined || concurrency > 1
    ? []
    : [
        `instances.${name} has a limit in dollars, but no maxTurnUsd: each turn holds all the money that is left, and one that is ` +
          'cut off is charged with all of it. Set maxTurnUsd.',
      ]

// Tokens alone are priced by the model.
const unpriced = ({ instance, priceOf }: Loaded): readonly string[] => {
  const { name, limits, settings } = instance
  const { engine, model } = settings
  const limited = [limits.budget?.microUsd, limits.total?.microUsd, limits.maxTurnMicroUsd].some(
    usd => usd !== undefined,
  )
  if (!limited || engine.provider === undefined || engine.tellsUsd === true) return []
  if (priceOf(sample, model) !== 'unknown') return []
  return [
    `instances.${name}: ${model === undefined ? 'no model is named' : `no price of "${model}" is known`}, so unless its CLI tells one ` +
      'what its turns cost is unknown, and each is charged with all that it holds. Set "model", "price", or limits in tokens or turns.',
  ]
}

const sample = { inputTokens: 1, outputTokens: 1 }
