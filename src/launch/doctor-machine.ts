import fs from 'node:fs'
import path from 'node:path'
import type * as T from 'fp-ts/lib/Task.js'
import { shellWord, whereProgram } from '../config/program.ts'
import type { Surroundings } from '../config/surroundings.ts'
import { type Finding, fine, problem, warning } from './doctor-finding.ts'
import { insideTurn } from './inside.ts'

const neededMajor = 24

/** Node, and `errand` itself. */
export const lookAtMachine =
  (where: Surroundings): T.Task<readonly Finding[]> =>
  async () => {
    const {
      environment,
      errand: [node, script],
    } = where
    const { version } = process
    const isNew = Number(/^v(\d+)/.exec(version)?.[1]) >= neededMajor
    const nodeFinding = isNew
      ? fine('node', `Node ${version} at ${node}.`)
      : problem('node', 'auth', `errand needs Node ${neededMajor} or newer, and this is ${version}.`)
    const found = await whereProgram('errand', environment)()
    return [nodeFinding, onPath(found, script, insideTurn(where) !== undefined)]
  }

const onPath = (found: string | undefined, script: string, inside: boolean): Finding => {
  const root = path.dirname(path.dirname(script))
  if (found === undefined) {
    const sentence = 'errand is not on your PATH: call it by `npx errand`. Turns find it in any case.'
    return warning('errand', sentence, `npm install -g ${shellWord(root)}`)
  }
  const real = fs.realpathSync(found)
  // Inside a turn the state folder's own one leads PATH, and calls the errand that runs the turn.
  if (inside || real === fs.realpathSync(script)) return fine('errand', `errand is ${found}.`)
  return warning(
    'errand',
    `The errand on your PATH, ${found}, is another one than this, ${script}. Call this one by its path, or put it first in PATH.`,
  )
}
