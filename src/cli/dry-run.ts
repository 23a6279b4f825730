import * as E from 'fp-ts/lib/Either.js'
import { exhausted, setIn } from '../budget/sentences.ts'
import { budgetStates } from '../budget/states.ts'
import { reachOf } from '../config/reach.ts'
import { refuseEarly } from '../launch/early.ts'
import { budgetVerdict } from '../launch/explain.ts'
import { speakerOf } from '../launch/speaker.ts'
import type { State } from '../launch/state.ts'
import { answerFailure } from './answer.ts'
import { budgetOf } from './budget.ts'
import { budgetJson, spentOf } from './budget-words.ts'
import type { TalkOptions } from './options.ts'
import type { Terminal } from './terminal.ts'

/** Says what a talk would do: who would speak, who would be launched, what may be spent. Asks nobody, changes nothing. */
export const dryRun = async (
  terminal: Terminal,
  state: State,
  name: string,
  prompt: string,
  options: TalkOptions,
): Promise<number> => {
  const { config, registry, store, where } = state
  const speaker = await speakerOf(state, options)()
  if (E.isLeft(speaker)) return answerFailure(terminal, speaker.left, name, options)
  const { fromInstance: from, depth } = speaker.right
  const target = refuseEarly(config, name, { fromInstance: from, prompt, depth })
  if (E.isLeft(target)) return answerFailure(terminal, target.left, name, options)
  const verdict = await budgetVerdict(state, target.right)()
  if (E.isLeft(verdict)) return answerFailure(terminal, verdict.left, name, options)
  if (verdict.right.kind === 'exhausted')
    return answerFailure(terminal, setIn(config.file)(exhausted(verdict.right.by)), name, options)
  const listed = await registry.list()()
  if (E.isLeft(listed)) return answerFailure(terminal, listed.left, name, options)
  const budgets = await budgetStates(store, where.now(), [budgetOf(config, name)])()
  if (E.isLeft(budgets)) return answerFailure(terminal, budgets.left, name, options)

  const running = new Set(listed.right.filter(({ life }) => life !== 'dead').map(entry => entry.name))
  const launches = state.inside === undefined ? reachOf(config, name).filter(each => !running.has(each)) : []
  const { engine, cwd } = target.right
  const bytes = Buffer.byteLength(prompt)
  const [budget] = budgets.right
  if (options.json) {
    const told = { dryRun: true, instance: name, engine, cwd, from, depth: depth + 1, bytes, launches }
    terminal.out(JSON.stringify({ ...told, budget: budget === undefined ? null : budgetJson(budget) }))
    return 0
  }
  terminal.out(`${from} would ask ${name} (${engine}) in ${cwd}, at depth ${depth + 1}, ${bytes} bytes.`)
  terminal.out(launches.length > 0 ? `To be launched for it: ${launches.join(', ')}.` : 'Nothing would be launched.')
  if (budget !== undefined) terminal.out(`Spent by ${name}: ${spentOf(budget)}.`)
  return 0
}
