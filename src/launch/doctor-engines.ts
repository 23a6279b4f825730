import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import type { Config, InstanceConfig } from '../config/config.ts'
import { whereProgram } from '../config/program.ts'
import type { Surroundings } from '../config/surroundings.ts'
import type { Engine } from '../engine/engine.ts'
import { engineNames, loadEngine } from '../engine/load.ts'
import type { Told } from '../process/ask-program.ts'
import { type Asked, withCli } from './doctor-ask.ts'
import { type LoginFacts, loginOf } from './doctor-login.ts'
import { packageVersion } from './doctor-package.ts'

/** A provider CLI as some instances use it, or none. */
export interface EngineUse extends Asked {
  /** As budgets.json names the engine. */
  readonly name: string
  /** Enabled ones that use it just so. */
  readonly instances: readonly string[]
}

/** What is known of it. */
export interface EngineFacts extends EngineUse {
  /** The file that would be started; absent where it is not found. */
  readonly path?: string
  /** Absent where it was not found or did not tell, and for a `command`, which is not asked. */
  readonly version?: string
  readonly login?: LoginFacts
}

/** Looks at the built-in engines and at those that budgets.json names, each CLI as its instances use it. */
export const lookAtEngines =
  (config: Config | undefined, where: Surroundings): T.Task<readonly EngineFacts[]> =>
  async () => {
    const uses = await usesOf(config, where)
    const facts: EngineFacts[] = []
    let next = 0
    const worker = async (): Promise<void> => {
      for (let at = next++; at < uses.length; at = next++) {
        const use = uses[at]
        if (use !== undefined) facts[at] = await lookAt(use, where)
      }
    }
    // Not all at once: some CLIs take seconds of a processor to start.
    await Promise.all(Array.from({ length: lookedAtOnce }, worker))
    return facts
  }

const lookedAtOnce = 2

const usesOf = async (config: Config | undefined, where: Surroundings): Promise<readonly EngineUse[]> => {
  const uses = new Map<string, EngineUse>()
  for (const one of config?.instances.values() ?? []) {
    const engine = await loadEngine(one.engine, config?.folder ?? where.folder)()
    // One that cannot be loaded is told of its instance.
    if (!one.enabled || E.isLeft(engine)) continue
    const key = JSON.stringify([one.engine, one.cli, one.model, one.env])
    const known = uses.get(key)
    uses.set(key, known ? { ...known, instances: [...known.instances, one.name] } : useOf(one, engine.right))
  }
  const used = new Set([...uses.values()].map(({ engine }) => engine))
  for (const name of engineNames) {
    const loaded = await loadEngine(name, where.folder)()
    if (E.isLeft(loaded) || loaded.right.cli === undefined || used.has(loaded.right)) continue
    uses.set(name, { name, engine: loaded.right, cli: [loaded.right.cli], passed: [], instances: [] })
  }
  return [...uses.values()]
}

const useOf = ({ name, engine: named, cli, env, model }: InstanceConfig, engine: Engine): EngineUse => ({
  name: named,
  engine,
  cli: cli ?? (engine.cli === undefined ? [] : [engine.cli]),
  passed: env,
  instances: [name],
  ...(model === undefined ? {} : { model }),
})

const lookAt = async (use: EngineUse, where: Surroundings): Promise<EngineFacts> => {
  const { engine, cli, passed } = use
  const path = await whereProgram(cli[0] ?? '', where.environment)()
  if (path === undefined) return use
  // Nobody knows what another program would do with `--version`.
  if (engine.cli === undefined) return { ...use, path }
  return withCli(use, where, async ({ environment, ask }) => {
    const version = versionIn(await ask(['--version'], versionWithinMs)()) ?? packageVersion(path)
    const login = await loginOf(engine, { environment, host: where.environment, passed, ask })()
    return { ...use, path, login, ...(version === undefined ? {} : { version }) }
  })
}

// On its first start a CLI may unpack itself, which is better not cut short.
const versionWithinMs = 20_000

const versionIn = ({ stdout, stderr }: Told): string | undefined =>
  /\d+\.\d+(?:\.\d+)?(?:-[\w.]+)?/.exec(`${stdout}\n${stderr}`)?.[0]
