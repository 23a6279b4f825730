/** Rows as aligned columns, two blanks apart; a column whose every cell looks like a number or money is set right. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string => {
  const columns = headings.map((heading, at) => {
    const cells = rows.map(row => row[at] ?? '')
    const width = Math.max(heading.length, ...cells.map(cell => cell.length))
    const right = cells.every(cell => /^([-$\d].*)?$/.test(cell) && !/[a-z]{3}|:/i.test(cell))
    return (cell: string) => (right ? cell.padStart(width) : cell.padEnd(width))
  })
  const line = (cells: readonly string[]) =>
    columns
      .map((set, at) => set(cells[at] ?? ''))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map(line).join('\n')
}
