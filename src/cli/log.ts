import * as E from 'fp-ts/lib/Either.js'
import type { TurnRecord } from '../budget/ledger.ts'
import { turnRecord, turnRecords, turnTree as turnsUnder } from '../budget/turns.ts'
import type { State } from '../launch/state.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { noTurn } from './no-turn.ts'
import type { LogOptions } from './options.ts'
import { refuse } from './refuse.ts'
import { table } from './table.ts'
import type { Terminal } from './terminal.ts'
import { turnFacts, turnHeadings, turnJson, turnRow, turnTree } from './turn-words.ts'
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
  if (turn === undefined) return refuse(terminal, [noTurn(id)], options)
  if (options.text === true) return showText(terminal, turn, options)
  const family = await turnsUnder(store, turn.root)()
  if (E.isLeft(family)) return refuse(terminal, [family.left], options)
  terminal.out(
    options.json
      ? JSON.stringify({ ...turnJson(turn), tree: turnTree(turn, family.right).map(({ turn }) => turnJson(turn)) })
      : turnFacts(turn, family.right),
  )
  return 0
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
