import { fileURLToPath } from 'node:url'

/** What a command line or a script stands in: the one place that reads it from the process. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute: where relative paths of a command line begin, and the look for budgets.json. */
  readonly folder: string
  readonly pid: number
  readonly now: () => number
  /** The program that `errand` is for the turns: Node and the path of bin/errand.js. */
  readonly errand: readonly [node: string, script: string]
}

export const surroundings = (): Surroundings => ({
  environment: process.env,
  folder: process.cwd(),
  pid: process.pid,
  now: Date.now,
  errand: [process.execPath, fileURLToPath(new URL(`${rootOf(import.meta.url)}bin/errand.js`, import.meta.url))],
})

// src/launch/x.ts in a checkout, dist/src/launch/x.js when compiled.
const rootOf = (moduleUrl: string): string => (moduleUrl.endsWith('.ts') ? '../../' : '../../../')
