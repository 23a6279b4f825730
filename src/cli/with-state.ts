import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Config, Mistakes } from '../config/config.ts'
import { readConfig } from '../config/find.ts'
import { insideTurn } from '../launch/inside.ts'
import { openState, type State } from '../launch/state.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'

/** Reads budgets.json, opens its state folder, does what is to be done with it, and closes it. */
export const withState = async (
  terminal: Terminal,
  options: Common,
  use: (state: State) => Promise<number>,
): Promise<number> => {
  const config = await configOf(terminal, options)()
  if (E.isLeft(config)) return refuse(terminal, config.left, options)
  const opened = await openState(config.right, terminal.where)()
  if (E.isLeft(opened)) return refuse(terminal, [opened.left], options)
  try {
    return await use(opened.right)
  } finally {
    await opened.right.close()
  }
}

/** The budgets.json that is meant: inside a turn, that of the turn. */
export const configOf = ({ where }: Terminal, { config }: Common): TE.TaskEither<Mistakes, Config> =>
  readConfig(config ?? insideTurn(where)?.configFile, where)
