// Numbers and money: their last digits stand below each other.
const setRight = new Set([
  'SPENT',
  'HELD',
  'LIMIT',
  'LEFT',
  'TOKENS',
  'DEPTH',
  'TOOK',
  'COST',
  'PID',
  'RUNNING',
  'QUEUED',
])

/** Rows as aligned columns, two blanks apart. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string => {
  const columns = headings.map((heading, at) => {
    const width = Math.max(heading.length, ...rows.map(row => (row[at] ?? '').length))
    return (cell: string) => (setRight.has(heading) ? cell.padStart(width) : cell.padEnd(width))
  })
  const line = (cells: readonly string[]) =>
    columns
      .map((set, at) => set(cells[at] ?? ''))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map(line).join('\n')
}
