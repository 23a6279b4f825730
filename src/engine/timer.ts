/** A deadline that can be set, set anew and taken away. */
export interface Timer {
  /** In so many milliseconds, the ones it was made with unless told. */
  readonly start: (ms?: number) => void
  readonly stop: () => void
}

export const after = (ms: number, act: () => void): Timer => {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => clearTimeout(timer)
  return {
    start: (inMs = ms) => {
      stop()
      timer = setTimeout(act, Math.min(inMs, longestMs))
    },
    stop,
  }
}

// A longer one would fire at once; nobody waits for 24 days.
const longestMs = 2 ** 31 - 1
