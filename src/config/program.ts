import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import type * as T from 'fp-ts/lib/Task.js'
import type { Surroundings } from './surroundings.ts'

/** The file that would be started: a path as it is, a bare name by PATH; `undefined` where there is none. */
export const whereProgram =
  (program: string, environment: Surroundings['environment']): T.Task<string | undefined> =>
  async () => {
    if (program.includes('/')) return (await isProgram(program)) ? program : undefined
    const folders = (environment['PATH'] ?? '').split(path.delimiter).filter(folder => folder !== '')
    for (const folder of folders) {
      const file = path.join(folder, program)
      if (await isProgram(file)) return file
    }
    return undefined
  }

/** One word of a shell's command line. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const isProgram = async (file: string): Promise<boolean> => {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}
