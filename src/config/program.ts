import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import type * as T from 'fp-ts/lib/Task.js'
import type { Surroundings } from './surroundings.ts'

/** Whether a program can be started: a path by itself, a bare name by PATH. */
export const programOnPath =
  (program: string, environment: Surroundings['environment']): T.Task<boolean> =>
  async () => {
    if (program.includes('/')) return isProgram(program)
    const folders = (environment['PATH'] ?? '').split(path.delimiter).filter(folder => folder !== '')
    for (const folder of folders) if (await isProgram(path.join(folder, program))) return true
    return false
  }

const isProgram = async (file: string): Promise<boolean> => {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}
