import { stat } from 'node:fs/promises'
import { type Failure, failure } from '../protocol/failure.ts'
import type { EngineSettings } from './settings.ts'

/** Why a program could not be started: a missing folder and a missing program give the same error of the system. */
export const notStarted = async (
  file: string,
  { engine, cwd }: Pick<EngineSettings, 'engine' | 'cwd'>,
  code: string | undefined,
): Promise<Failure<'engine_cli'>> => {
  const folder = await kindOf(cwd)
  if (folder !== 'folder') {
    const what = folder === 'nothing' ? 'does not exist' : 'is no folder'
    return failure(
      'engine_cli',
      `The folder ${cwd}, in which ${engine.name} should run, ${what}. Make it, or mend "cwd".`,
    )
  }
  const program = await sayProgram(file, code)
  // Nothing needs to be installed where the system had no room for it (EMFILE, E2BIG, EAGAIN).
  const isMissing = code === 'ENOENT' || code === 'EACCES'
  return failure('engine_cli', isMissing ? `${program} ${engine.install ?? ''}` : program)
}

const sayProgram = async (file: string, code: string | undefined): Promise<string> => {
  if (code === 'ENOENT' && !file.includes('/')) return `The program ${file} was not found on PATH.`
  const found = await kindOf(file)
  if (code === 'ENOENT' && found === 'nothing') return `The program ${file} does not exist.`
  if (code === 'ENOENT') return `The program ${file} names an interpreter in its first line that does not exist.`
  if (code === 'EACCES') return `The program ${file} must not be executed (EACCES); its mode needs an x.`
  return `The program ${file} could not be started (${code ?? 'no reason told'}).`
}

const kindOf = async (path: string): Promise<'folder' | 'file' | 'nothing'> => {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'nothing'
  }
}
