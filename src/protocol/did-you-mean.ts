/** ` Did you mean "worker"?`, or nothing where no candidate is near. */
export const didYouMean = (word: string, candidates: Iterable<string>): string => {
  const nearest = [...candidates]
    .map(candidate => ({ candidate, away: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, away }) => away <= Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3)))
    .sort((a, b) => a.away - b.away)[0]
  return nearest === undefined ? '' : ` Did you mean "${nearest.candidate}"?`
}

/** Levenshtein's, of words that a person wrote; what is longer is near nothing. */
const distance = (a: string, b: string): number => {
  if (a.length > 80 || b.length > 80) return Number.POSITIVE_INFINITY
  let above = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [row, letter] of [...a].entries()) {
    const line = [row + 1]
    for (const [at, other] of [...b].entries()) {
      line.push(Math.min((above[at + 1] ?? 0) + 1, (line[at] ?? 0) + 1, (above[at] ?? 0) + (letter === other ? 0 : 1)))
    }
    above = line
  }
  return above.at(-1) ?? 0
}
