/** Why a file could not be read, for people. */
export const whyUnreadable = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return reasons.get(code) ?? code
}

const reasons = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'no permission'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is no folder'],
  ['EEXIST', 'a file stands where its folder should be'],
])
