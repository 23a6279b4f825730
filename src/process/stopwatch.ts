/** Whole milliseconds since it was made, whatever the clock of the machine is set to meanwhile. */
export type Stopwatch = () => number

export const stopwatch = (): Stopwatch => {
  const begunAtMs = performance.now()
  return () => Math.round(performance.now() - begunAtMs)
}
