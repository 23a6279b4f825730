import * as E from 'fp-ts/lib/Either.js'
import { check as checkInstances } from '../launch/check.ts'
import { openState } from '../launch/state.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import type { Failure } from '../protocol/failure.ts'
import { checkTalk } from './check-talk.ts'
import type { CheckOptions } from './options.ts'
import { refuse, warn } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { configOf } from './with-state.ts'

/** Says whether budgets.json is sound and its instances could run now; or, of two of them, whether one may ask the other. */
export const check = async (terminal: Terminal, options: CheckOptions): Promise<number> => {
  const { from, to, depth } = options
  if (to !== undefined) return checkTalk(terminal, to, options)
  if (from === undefined && depth === undefined) return checkAll(terminal, options)
  terminal.say('errand: --from and --depth need --to: `errand check --from reviewer --to worker`.')
  return usageExitStatus
}

/** Everything that is wrong, not only the first. */
const checkAll = async (terminal: Terminal, options: Common): Promise<number> => {
  const config = await configOf(terminal, options)()
  if (E.isLeft(config)) return told(terminal, config.left, [], options)
  const { file, instances, warnings } = config.right
  const checked = await checkInstances(config.right, terminal.where)()
  const opened = await openState(config.right, terminal.where)()
  if (E.isRight(opened)) await opened.right.close()
  const mistakes = [...checked.mistakes, ...(E.isLeft(opened) ? [opened.left] : [])]
  const all = [...new Set([...warnings, ...checked.warnings])]
  if (mistakes.length > 0) return told(terminal, mistakes, all, options)
  if (options.json) return told(terminal, [], all, options)
  warn(terminal, all)
  const names = [...instances.values()]
    .filter(({ enabled }) => enabled)
    .map(({ name, engine }) => `${name} (${engine})`)
  terminal.out(`${file} is sound; ${names.join(', ') || 'nothing'} could run now.`)
  return 0
}

const told = (
  terminal: Terminal,
  mistakes: readonly Failure[],
  warnings: readonly string[],
  options: Common,
): number => {
  if (options.json) {
    const all = mistakes.map(({ code, sentence }) => ({ errorCode: code, error: sentence }))
    terminal.out(JSON.stringify({ success: mistakes.length === 0, mistakes: all, warnings }))
  }
  warn(terminal, warnings)
  return refuse(terminal, mistakes, { ...options, json: false })
}
