import * as E from 'fp-ts/lib/Either.js'
import type * as T from 'fp-ts/lib/Task.js'
import { checkPorts } from '../config/check-ports.ts'
import type { Config, InstanceConfig } from '../config/config.ts'
import { commandIn, type Loaded, loadInstances } from '../config/load.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { priceList } from '../engine/price-list.ts'
import { pricedBy, unwise } from './check.ts'
import type { EngineFacts } from './doctor-engines.ts'
import { type Finding, fine, problem, warning } from './doctor-finding.ts'

/** Whether each enabled instance could run now, and what is unwise in the file. */
export const lookAtInstances =
  (config: Config, facts: readonly EngineFacts[], where: Surroundings): T.Task<readonly Finding[]> =>
  async () => {
    const enabled = [...config.instances.values()].filter(one => one.enabled)
    const looked = await Promise.all(enabled.map(one => lookAt(config, one, facts, where)))
    const ports = await checkPorts(enabled)()
    return [
      ...looked.flat(),
      ...(enabled.length === 0 ? [warning('instances', `No instance of ${config.file} is enabled.`)] : []),
      ...ports.map(({ sentence }) => warning('instances', sentence)),
      ...config.warnings.map(sentence => warning('budgets.json', sentence)),
    ]
  }

const lookAt = async (
  config: Config,
  one: InstanceConfig,
  facts: readonly EngineFacts[],
  where: Surroundings,
): Promise<readonly Finding[]> => {
  const loaded = await loadInstances(config, [one], where)()
  if (E.isLeft(loaded)) return loaded.left.map(({ code, sentence }) => problem(one.name, code, sentence))
  const used = facts.find(({ instances }) => instances.includes(one.name))
  return loaded.right.flatMap(each => {
    const lacks = each.lacks.map(({ sentence, mend }) => problem(one.name, 'engine_cli', sentence, mend))
    const other = used === undefined ? [] : [...loginFinding(one.name, used), ...versionFinding(one.name, used)]
    const found = [...lacks, ...other, ...unwise(each).map(sentence => warning(one.name, sentence))]
    const stands = found.some(({ level }) => level === 'problem')
    return stands ? found : [fine(one.name, `could run now: ${describe(each)}`), ...found]
  })
}

const describe = (loaded: Loaded): string => {
  const { engine, model, access } = loaded.instance.settings
  const by = pricedBy(loaded)
  const list = `${priceList.name} ${priceList.version}, ${priceList.releasedOn}`
  const prices =
    by === 'nobody' ? 'its price is not known' : `priced by ${by}${by === 'the price list' ? ` (${list})` : ''}`
  return [engine.name, model, access === undefined ? undefined : `access ${access}`, prices].filter(Boolean).join(', ')
}

const loginFinding = (about: string, { name, login }: EngineFacts): readonly Finding[] => {
  if (login === undefined || login.state === 'yes') return []
  if (login.state === 'unknown') return [warning(about, `Whether ${name} is logged in cannot be told: ${login.why}.`)]
  const { how, withheld } = login
  const more =
    withheld.length === 0
      ? ''
      : ` ${withheld.join(', ')} is set, but does not reach it: name it in "env", or a "model" of that provider.`
  return [
    problem(about, 'auth', `${name} is not logged in, so its turns will fail.${more} Log in: ${how}.`, commandOf(how)),
  ]
}

const versionFinding = (about: string, { name, engine, version, path }: EngineFacts): readonly Finding[] => {
  const { cli, checkedAgainst, install = '' } = engine
  if (cli === undefined || path === undefined) return []
  if (version === undefined) return [warning(about, `${path} did not tell its version.`, `${path} --version`)]
  if (checkedAgainst === undefined || !isOlder(version, checkedAgainst)) return []
  const sentence = `${name} ${version} is older than ${checkedAgainst}, which errand was checked against: upgrade it.`
  return [warning(about, sentence, commandIn(install).mend)]
}

/** Numbers are compared part by part. */
export const isOlder = (version: string, than: string): boolean => {
  const [own, other] = [version, than].map(text => text.split(/[.-]/).slice(0, 3).map(Number))
  for (const [at, part] of (other ?? []).entries()) {
    const mine = own?.[at] ?? 0
    if (mine !== part) return mine < part
  }
  return false
}

// `how` may be a command, or a sentence with one in quotes or backticks.
const commandOf = (how: string): string | undefined =>
  /[`"]([^`"]+)[`"]/.exec(how)?.[1] ?? (/^[a-z][\w-]*(?: [\w./:-]+)*$/.test(how) ? how : undefined)
