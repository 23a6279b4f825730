import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import path from 'node:path'
import type { Surroundings } from './surroundings.ts'

/** Where the state of a budgets.json lies: outside of every agent's working tree, unless `stateDir` says otherwise. */
export const stateFolderOf = (
  realFile: string,
  stateDir: string | undefined,
  { environment }: Pick<Surroundings, 'environment'>,
): string => {
  if (stateDir !== undefined) return path.resolve(path.dirname(realFile), stateDir)
  const told = environment['XDG_STATE_HOME']
  const home = environment['HOME'] || homedir()
  const base = told && path.isAbsolute(told) ? told : path.join(home, '.local', 'state')
  return path.join(base, 'errand', createHash('sha256').update(realFile).digest('hex').slice(0, 16))
}
