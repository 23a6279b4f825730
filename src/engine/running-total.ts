/** A total that a CLI told of a whole session, of which this turn is the latest run. */
export interface RunningTotal {
  readonly total: number
  /** What it was when the run before ended: 0 for a new session. */
  readonly last: number | 'unknown'
  /** What this run told of itself, in a narrower scope. */
  readonly own: number | undefined
  /** Whether it is known to go on where it ended, when nothing of its own can tell. */
  readonly goesOn: boolean
}

/**
 * The part of this run. Some CLIs go on with the total of the run before, some begin anew with each process, and some did
 * one in one version and the other in the next: of the two, the one that is nearer to what the run told of itself. With
 * nothing to compare, the larger, unless the total is known to go on.
 */
export const partOfRun = ({ total, last, own, goesOn }: RunningTotal): number => {
  if (last === 'unknown') return own ?? total
  const rest = total - last
  if (rest < 0) return total
  if (own === undefined) return goesOn || rest === 0 ? rest : total
  return Math.abs(rest - own) <= Math.abs(total - own) ? rest : total
}
