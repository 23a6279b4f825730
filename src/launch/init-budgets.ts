import fs from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BudgetsJson } from '../config/config-object.ts'
import { isWithin } from '../config/warnings.ts'
import type { EngineFacts } from './doctor-engines.ts'

/** Found and logged in. */
export const isReady = ({ path, login }: EngineFacts): boolean => path !== undefined && login?.state === 'yes'

/** One instance for each engine: small budgets, nothing but reading, and the first may ask the others. */
export const budgetsFor = (ready: readonly Pick<EngineFacts, 'name'>[], schema: string): BudgetsJson => {
  const names = ready.map(({ name }, at) => (ready.length === 1 ? 'worker' : (roles[at] ?? name)))
  const instances = Object.fromEntries(
    ready.map(({ name: engine }, at) => [
      names[at] ?? engine,
      {
        description: at === 0 && ready.length > 1 ? 'judges code or a diff' : 'reads files and reports',
        engine,
        access: 'read' as const,
        budget: { usd: 1, per: 'day' as const },
        maxTurnUsd: 0.25,
        peers: at === 0 ? [] : names.slice(0, 1),
        timeout: '10m',
      },
    ]),
  )
  return {
    $schema: schema,
    budget: { usd: 5, per: 'day' },
    instances: ready.length === 0 ? example : instances,
  }
}

/** As a person would write it: what holds nothing else in it stands on one line. */
export const laidOut = (budgets: BudgetsJson): string =>
  `${JSON.stringify(budgets, null, 2)}\n`.replace(
    /([{[])\n\s+([^{}[\]]*?)\n\s+([}\]])/g,
    (_, opens: string, inner: string, closes: string) => {
      const blank = opens === '{' ? ' ' : ''
      return `${opens}${blank}${inner.replaceAll(/\n\s+/g, ' ')}${blank}${closes}`
    },
  )

const roles = ['reviewer', 'worker'] as const

// A program that is everywhere; it costs nothing.
const example: BudgetsJson['instances'] = {
  worker: {
    description: 'an example: says what it was asked',
    engine: 'command',
    command: ['sh', '-c', 'echo "You asked:"; cat'],
    budget: { turns: 100, per: 'day' },
    peers: [],
    timeout: '10m',
  },
}

/** The schema as an editor finds it from there: by the package that is installed in that folder, else where this errand lies. */
export const schemaFor = async (folder: string, script: string): Promise<string> => {
  const installed = path.join(folder, 'node_modules', 'errand', name)
  const own = path.join(path.dirname(path.dirname(await fs.realpath(script))), name)
  const near = await fs.access(installed).then(
    () => installed,
    () => own,
  )
  return isWithin(near, folder) ? `./${path.relative(folder, near)}` : pathToFileURL(near).href
}

const name = 'budgets.schema.json'
