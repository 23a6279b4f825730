import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Of the files that these patterns name, the newest few that can be read as a log; the newest comes last. Never throws. */
export const logFilesOf = async (patterns: readonly string[]): Promise<readonly string[]> => {
  const paths = new Set((await Promise.all(patterns.map(expanded))).flat())
  const files = await Promise.all([...paths].map(fileAt))
  return files
    .flat()
    .toSorted((a, b) => a.changedMs - b.changedMs)
    .slice(-mostFiles)
    .map(({ path }) => path)
}

const fileAt = async (path: string): Promise<readonly { readonly path: string; readonly changedMs: number }[]> => {
  try {
    const found = await lstat(path)
    return found.isFile() && found.size < largestBytes ? [{ path, changedMs: found.mtimeMs }] : []
  } catch {
    return []
  }
}

/** `*` stands for any part of one name. */
const expanded = async (pattern: string): Promise<readonly string[]> => {
  let found: readonly string[] = ['/']
  for (const name of pattern.split('/').filter(part => part !== '')) {
    found = name.includes('*')
      ? (await Promise.all(found.map(folder => namesLike(folder, name.split('*'))))).flat().slice(0, mostPaths)
      : found.map(folder => join(folder, name))
  }
  return found
}

const namesLike = async (folder: string, parts: readonly string[]): Promise<readonly string[]> => {
  try {
    const names = await readdir(folder)
    return names.filter(name => isLike(name, parts)).map(name => join(folder, name))
  } catch {
    return []
  }
}

// The first part begins the name, the last one ends it, and the others follow one another in between.
const isLike = (name: string, parts: readonly string[]): boolean => {
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at + last.length <= name.length
}

const mostFiles = 16
const mostPaths = 10_000
const largestBytes = 64 * 1024 * 1024
