import * as E from 'fp-ts/lib/Either.js'
import type { Config } from '../config/config.ts'
import { check } from '../launch/check.ts'
import { type Written, writeBudgets } from '../launch/init.ts'
import { operatorOnly } from './operator-only.ts'
import type { InitOptions } from './options.ts'
import { progress } from './progress.ts'
import { refuse } from './refuse.ts'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'

/** Writes a budgets.json from what is installed, and says what to look at next: JSON has no comments. */
export const init = async (terminal: Terminal, options: InitOptions): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand init`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  const line = progress(terminal, 'the provider CLIs are looked at')
  const written = await writeBudgets(terminal.where, options.config, options.force === true)()
  line.end()
  if (E.isLeft(written)) return refuse(terminal, written.left, options)
  const next = await nextFor(written.right, terminal)
  if (options.json) terminal.out(JSON.stringify(writtenJson(written.right, next)))
  else say(terminal, written.right, next)
  return 0
}

const say = (terminal: Terminal, { config, skipped, example }: Written, next: readonly string[]): void => {
  terminal.out(`${config.file} is written.`)
  if (example)
    terminal.out(
      'No provider CLI was found that is logged in, so it has an example: a program that says what it was asked.',
    )
  terminal.out('')
  terminal.out(table(['INSTANCE', 'ENGINE', 'MAY BE ASKED BY'], rowsOf(config)))
  if (skipped.length > 0) terminal.out('')
  for (const { engine, why } of skipped) terminal.out(`Left out: ${engine}, ${why}.`)
  terminal.out('\nLook next at:')
  for (const each of next) terminal.out(`- ${each}`)
}

const rowsOf = ({ instances }: Config) =>
  [...instances.values()].map(({ name, engine, peers }) => [name, engine, ['you', ...peers].join(', ')])

const nextFor = async ({ config, example }: Written, { where }: Terminal): Promise<readonly string[]> => {
  const { mistakes, warnings } = await check(config, where)()
  const [first = 'worker'] = config.instances.keys()
  return [
    ...[...mistakes.map(({ sentence }) => sentence), ...new Set(warnings)],
    ...(example
      ? ['`errand doctor`: how to install the CLIs and log in. Then `errand init --force` writes this file anew.']
      : [
          '"access": all of them may only read. Where one shall write, give it "access": "write" and a "cwd" that is not the folder of this file.',
          '"budget" and "maxTurnUsd": a dollar a day for each, a quarter for a turn, five dollars a day for all.',
          '"peers": who may ask whom. You yourself may ask all of them.',
        ]),
    `errand talk ${first} "What is in this folder?"`,
  ]
}

const writtenJson = ({ config, skipped, example }: Written, next: readonly string[]) => ({
  success: true,
  file: config.file,
  instances: [...config.instances.values()].map(({ name, engine, peers }) => ({ instance: name, engine, peers })),
  example,
  skipped,
  next,
})
