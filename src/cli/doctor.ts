import { type Diagnosis, diagnose } from '../launch/doctor.ts'
import type { EngineFacts } from '../launch/doctor-engines.ts'
import { exitStatusOf, type Finding } from '../launch/doctor-finding.ts'
import { engineHeadings, engineJson, engineRow, findingJson, findingLines } from './doctor-words.ts'
import { operatorOnly } from './operator-only.ts'
import type { DoctorOptions } from './options.ts'
import { progress } from './progress.ts'
import { refuse } from './refuse.ts'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'
import { configOf } from './with-state.ts'

/** Says what is installed, what is wrong and how to mend it; status 0 only where every enabled instance could run now. */
export const doctor = async (terminal: Terminal, options: DoctorOptions): Promise<number> => {
  const refused = options.fix === true ? operatorOnly(terminal, '`errand doctor --fix`') : undefined
  if (refused !== undefined) return refuse(terminal, [refused], options)
  const config = await configOf(terminal, options)()
  const line = progress(terminal, 'the provider CLIs are looked at')
  const diagnosis = await diagnose(config, terminal.where, options.fix === true)()
  line.end()
  const status = exitStatusOf([...diagnosis.instances, ...diagnosis.bus])
  if (options.json) terminal.out(JSON.stringify(diagnosisJson(diagnosis, status)))
  else say(terminal, diagnosis)
  return status
}

const say = (terminal: Terminal, { engines, instances, bus, mended }: Diagnosis): void => {
  const section = (title: string, lines: readonly string[]) => {
    if (lines.length > 0) terminal.out([title, ...lines.map(text => `  ${text}`), ''].join('\n'))
  }
  section('Mended', mended)
  section('Engines', table(engineHeadings, engines.map(engineRow)).split('\n'))
  section('Instances', findingLines(instances))
  section('Bus', findingLines(bus))
  terminal.out(verdict([...instances, ...bus]))
}

const verdict = (findings: readonly Finding[]): string => {
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const told = [several(problems, 'problem'), several(warnings, 'warning')].filter(Boolean).join(', ')
  if (problems > 0) return `${told}: not every instance could run now.`
  return `Every enabled instance could run now${told === '' ? '' : ` (${told})`}.`
}

const several = (count: number, what: string): string =>
  count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`

const diagnosisJson = ({ engines, instances, bus, mended }: Diagnosis, status: number) => ({
  success: status === 0,
  engines: engines.map((facts: EngineFacts) => engineJson(facts)),
  findings: [...instances, ...bus].map(findingJson),
  mended,
})
