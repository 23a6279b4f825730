import { readFileSync } from 'node:fs'
import type { Surroundings } from '../config/surroundings.ts'

/** A turn that this process runs inside of. */
export interface InsideTurn {
  /** `a:b`, the innermost last. */
  readonly mark: string
  readonly token: string | undefined
  readonly configFile: string | undefined
}

/**
 * The turn whose mark stands in this process's environment, or, since some CLIs clean the environment of what they start,
 * in the nearest ancestor's that has one (Linux only: elsewhere an environment cannot be read).
 */
export const insideTurn = ({ environment, pid }: Pick<Surroundings, 'environment' | 'pid'>): InsideTurn | undefined => {
  const own = turnOf(name => environment[name])
  if (own?.token !== undefined) return own
  return turnOfAncestor(pid, own?.mark) ?? own
}

const turnOf = (variable: (name: string) => string | undefined): InsideTurn | undefined => {
  const mark = variable('ERRAND_TURN')
  if (!mark) return undefined
  return { mark, token: variable('ERRAND_TOKEN') || undefined, configFile: variable('ERRAND_CONFIG') || undefined }
}

/** Of the given mark, or of any. */
const turnOfAncestor = (pid: number, mark: string | undefined): InsideTurn | undefined => {
  for (let at = parentOf(pid); at !== undefined && at > 1; at = parentOf(at)) {
    const found = turnOf(variableOf(at))
    if (found !== undefined && (mark === undefined || (found.mark === mark && found.token !== undefined))) return found
  }
  return undefined
}

// Field 4 of /proc/PID/stat; the second one, the program's name, may hold spaces and parentheses.
const parentOf = (pid: number): number | undefined => {
  const stat = read(`/proc/${pid}/stat`)
  const parent = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  return Number.isSafeInteger(parent) ? parent : undefined
}

const variableOf = (pid: number): ((name: string) => string | undefined) => {
  const entries = read(`/proc/${pid}/environ`)?.split('\0') ?? []
  return name => entries.find(entry => entry.startsWith(`${name}=`))?.slice(name.length + 1)
}

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
