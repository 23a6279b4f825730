import { stat } from 'node:fs/promises'
import type * as T from 'fp-ts/lib/Task.js'

/** Whether this is a folder that can be seen. */
export const isFolder =
  (path: string): T.Task<boolean> =>
  async () => {
    try {
      return (await stat(path)).isDirectory()
    } catch {
      return false
    }
  }
