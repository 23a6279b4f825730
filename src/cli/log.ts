import * as E from 'fp-ts/lib/Either.js'
import type { TurnRecord } from '../budget/ledger.ts'
import { type RootState, rootState } from '../budget/roots.ts'
import { turnRecord, turnRecords, turnTree } from '../budget/turns.ts'
import type { State } from '../launch/state.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { showSpent } from '../protocol/money.ts'
import { noTurn } from './no-turn.ts'
import type { LogOptions } from './options.ts'
import { refuse } from './refuse.ts'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'
import { branchesOf, branchJson, branchOf, drawBranches, drawWork, spentOf, workJson } from './turn-tree.ts'
import { showFacts, turnFacts, turnHeadings, turnJson, turnRow } from './turn-words.ts'
import { withState } from './with-state.ts'

/** Lists the turns, or shows one of them. */
export const log = async (terminal: Terminal, id: string | undefined, options: LogOptions): Promise<number> => {
  if (id === '') {
    terminal.say('errand: TURN must be the id of a turn, or its beginning, not an empty string.')
    return usageExitStatus
  }
  if (id === undefined && options.text === true) {
    terminal.say('errand: --text needs the turn whose answer is to be printed, such as `errand log 3f9c --text`.')
    return usageExitStatus
  }
  return withState(terminal, options, state =>
    id === undefined ? list(terminal, state, options) : show(terminal, state, id, options),
  )
}

const list = async (terminal: Terminal, { store }: State, options: LogOptions): Promise<number> => {
  const turns = await turnRecords(store, { limit: options.limit })()
  if (E.isLeft(turns)) return refuse(terminal, [turns.left], options)
  if (options.json) terminal.out(JSON.stringify(turns.right.map(turnJson)))
  else if (turns.right.length === 0) terminal.say('No turn yet.')
  else terminal.out(table(turnHeadings, turns.right.map(turnRow)))
  return 0
}

const show = async (terminal: Terminal, { store, where }: State, id: string, options: LogOptions): Promise<number> => {
  const found = await turnRecord(store, where.now(), id)()
  if (E.isLeft(found)) return refuse(terminal, [found.left], options)
  const turn = found.right
  // Work is known by the id of its root, which is no turn's.
  const work = await rootState(store, turn?.root ?? id)()
  if (E.isLeft(work)) return refuse(terminal, [work.left], options)
  if (turn === undefined && (work.right === undefined || options.text === true))
    return refuse(terminal, [noTurn(id)], options)
  if (turn !== undefined && options.text === true) return showText(terminal, turn, options)
  const family = await turnTree(store, turn?.root ?? work.right?.root ?? id)()
  if (E.isLeft(family)) return refuse(terminal, [family.left], options)
  if (turn !== undefined) showTurn(terminal, turn, work.right, family.right, options)
  else if (work.right !== undefined) showWork(terminal, work.right, family.right, options)
  return 0
}

const showTurn = (
  terminal: Terminal,
  turn: TurnRecord,
  work: RootState | undefined,
  family: readonly TurnRecord[],
  { json }: LogOptions,
): void => {
  const branch = branchOf(turn, family)
  if (json) {
    terminal.out(JSON.stringify({ ...turnJson(turn), tree: branchJson(branch) }))
    return
  }
  const facts = showFacts([
    ...turnFacts(turn),
    ['with all that it delegated', branch.below.length > 0 ? showSpent(branch.sumMicroUsd) : undefined],
    ['work', work && `${spentOf(work)}; errand log ${work.root} shows it whole`],
  ])
  terminal.out([facts, ...(branch.below.length > 0 ? ['', ...drawBranches([branch])] : [])].join('\n'))
}

const showWork = (terminal: Terminal, work: RootState, family: readonly TurnRecord[], { json }: LogOptions): void => {
  const branches = branchesOf(family)
  terminal.out(json ? JSON.stringify(workJson(work, branches)) : drawWork(work, branches))
}

const showText = (terminal: Terminal, turn: TurnRecord, options: LogOptions): number => {
  if (turn.answer === undefined) return refuse(terminal, [noAnswer(turn)], options)
  if (options.json) terminal.out(JSON.stringify({ turn: turn.turn, text: turn.answer }))
  else terminal.outAnswer(turn.answer)
  return 0
}

const noAnswer = ({ turn, outcome, state }: TurnRecord): Failure =>
  failure(
    'invalid_request',
    outcome === 'success'
      ? `The answer of turn ${turn} is not kept any more: answers are kept for 24 hours.`
      : `Turn ${turn} has no answer: it is ${outcome ?? state}.`,
  )
