/** One line of the table: what was measured, its floor, the goal, and whether it is met. */
export interface Row {
  readonly what: string
  readonly floor: string
  readonly ours: string
  readonly goal: string
  readonly met: boolean
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)

export const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}

/** Takes every contestant once a round, in turns of who begins, so that a slow moment of the machine falls on all alike. */
export const interleaved = async <Name extends string>(
  rounds: number,
  contestants: readonly (readonly [Name, () => Promise<number>])[],
): Promise<(name: Name) => readonly number[]> => {
  const results = new Map<Name, number[]>(contestants.map(([name]) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const first = round % contestants.length
    for (const [name, measure] of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      results.get(name)?.push(await measure())
    }
  }
  return name => results.get(name) ?? []
}

export const ms = (value: number): string => `${value.toFixed(1)} ms`
