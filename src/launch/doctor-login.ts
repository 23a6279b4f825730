import { access } from 'node:fs/promises'
import path from 'node:path'
import type * as T from 'fp-ts/lib/Task.js'
import type { Engine } from '../engine/engine.ts'
import type { AskCli } from './doctor-ask.ts'

/** Whether a CLI is logged in, and by what: the name of a variable, a file or a command, never a value. */
export type LoginFacts =
  | { readonly state: 'yes'; readonly by: string }
  | {
      readonly state: 'no'
      readonly how: string /** Set, but kept from the CLI. */
      readonly withheld: readonly string[]
    }
  | { readonly state: 'unknown'; readonly why: string }

export interface LoginSources {
  /** All of the environment that the CLI gets. */
  readonly environment: Readonly<Record<string, string>>
  /** What doctor itself was started with. */
  readonly host: Readonly<Record<string, string | undefined>>
  /** Names that the instance lets through besides. */
  readonly passed: readonly string[]
  readonly ask: AskCli
}

/** The first that says yes counts: keys, then the CLI itself, then its files. Costs nothing, opens nothing. */
export const loginOf =
  (engine: Engine, { environment, host, passed, ask }: LoginSources): T.Task<LoginFacts> =>
  async () => {
    const { login } = engine
    if (login === undefined) return { state: 'unknown', why: 'this engine does not say how to tell' }
    const key = [...login.keys, ...providerKeys(engine, environment, passed)].find(name => environment[name])
    if (key !== undefined) return { state: 'yes', by: key }
    const told = login.status === undefined ? undefined : await ask(login.status)()
    if (told?.status === 0) return { state: 'yes', by: `\`${[engine.cli, ...(login.status ?? [])].join(' ')}\`` }
    for (const file of login.files ?? []) {
      if (await exists(file.replace(/^~(?=\/)/, environment['HOME'] ?? ''))) return { state: 'yes', by: file }
    }
    // A provider of one's own, with a key of one's own: only a turn can tell.
    const own = passed.filter(name => environment[name])
    if (own.length > 0) return { state: 'unknown', why: `it is given ${own.join(', ')}` }
    if (told?.late === true) return { state: 'unknown', why: `\`${login.status?.join(' ')}\` took too long` }
    return { state: 'no', how: login.how, withheld: login.keys.filter(name => host[name]) }
  }

// A CLI of many providers has as many keys; of those, only its model's have come through.
const providerKeys = (
  { env }: Engine,
  environment: LoginSources['environment'],
  passed: readonly string[],
): readonly string[] => {
  if (typeof env === 'function' || env?.includes('{provider}') !== true) return []
  return Object.keys(environment).filter(name => /_(?:KEY|TOKEN)$/.test(name) && !passed.includes(name))
}

const exists = async (file: string): Promise<boolean> => {
  if (!path.isAbsolute(file)) return false
  try {
    await access(file)
    return true
  } catch {
    return false
  }
}
