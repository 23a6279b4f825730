import { cold, everyCli } from './cold.ts'
import { commandLine } from './command-line.ts'
import { instances } from './instances.ts'
import type { Row } from './measure.ts'
import { records } from './records.ts'
import { refusals } from './refusals.ts'
import { talk } from './talk.ts'

// Every row is measured against its floor in the same run. A row that falls short is told, not failed. Real CLIs take
// minutes: `npm run bench` has claude and codex, `npm run bench -- cold` all that are installed in .clis, and nothing else.
const measures =
  process.argv[2] === 'cold' ? [cold(everyCli)] : [talk, refusals, instances, commandLine, records, cold()]
const rows: Row[] = []
for (const measure of measures) rows.push(...(await measure()))

const columns = ['what', 'floor', 'ours', 'goal'] as const
const widths = columns.map(column => Math.max(column.length, ...rows.map(row => row[column].length)))
const line = (cells: readonly string[]): string => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')
console.log(line(columns))
for (const row of rows) console.log(`${line(columns.map(column => row[column]))}  ${row.met ? 'met' : 'NOT MET'}`)
