import { priceList } from '../engine/price-list.ts'
import type { EngineFacts } from '../launch/doctor-engines.ts'
import type { Finding } from '../launch/doctor-finding.ts'
import type { LoginFacts } from '../launch/doctor-login.ts'

export const engineHeadings = ['ENGINE', 'VERSION', 'CHECKED', 'LOGIN', 'DOLLARS', 'USED BY', 'PROGRAM'] as const

/** One provider CLI as a row of a table. */
export const engineRow = ({ name, engine, version, login, instances, path, cli }: EngineFacts): readonly string[] => [
  name,
  version ?? '-',
  engine.checkedAgainst ?? '-',
  path === undefined ? '-' : loginWords(login),
  dollarsOf(engine),
  instances.join(', ') || '-',
  path ?? `${cli[0] ?? ''} is not found`,
]

/** The same for programs. */
export const engineJson = ({ name, engine, version, login, instances, path, model }: EngineFacts) => ({
  engine: name,
  instances,
  model: model ?? null,
  path: path ?? null,
  version: version ?? null,
  checkedAgainst: engine.checkedAgainst ?? null,
  login: login ?? null,
  dollars: engine.tellsUsd === true || engine.output === 'text' ? 'told' : 'priced',
  prices: engine.tellsUsd === true || engine.provider === undefined ? null : priceList,
  install: engine.install ?? null,
})

/** One thing that was looked at, for programs. */
export const findingJson = ({ level, about, sentence, mend, code }: Finding) => ({
  level,
  about,
  sentence,
  ...(mend === undefined ? {} : { mend }),
  ...(code === undefined ? {} : { errorCode: code }),
})

/** All of them for people: aligned, and below what is wrong the command that mends it. */
export const findingLines = (findings: readonly Finding[]): readonly string[] => {
  const width = Math.max(0, ...findings.map(({ about }) => about.length))
  return findings.flatMap(({ level, about, sentence, mend }) => {
    const line = `${level.padEnd('problem'.length)}  ${about.padEnd(width)}  ${sentence}`
    return mend === undefined ? [line] : [line, `${' '.repeat('problem'.length + width + 4)}→ ${mend}`]
  })
}

const loginWords = (login: LoginFacts | undefined): string => {
  if (login === undefined) return '-'
  if (login.state === 'yes') return `yes, by ${login.by}`
  return login.state === 'no' ? 'no' : 'unknown'
}

const dollarsOf = ({ tellsUsd, output, provider }: EngineFacts['engine']): string => {
  if (tellsUsd === true || output === 'text') return 'as it tells'
  return provider === undefined ? 'by "price"' : `list of ${priceList.releasedOn}`
}
