import * as E from 'fp-ts/lib/Either.js'
import { forgiveTurn } from '../budget/corrections.ts'
import { turnRecord } from '../budget/turns.ts'
import { showSpent, usdFrom } from '../protocol/money.ts'
import { noTurn } from './no-turn.ts'
import { operatorOnly } from './operator-only.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Gives back what a turn of unknown cost was charged beyond what it was seen to spend. */
export const budgetForgive = async (terminal: Terminal, id: string, options: Common): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand budget forgive`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  return withState(terminal, options, async ({ store, where }) => {
    const found = await turnRecord(store, where.now(), id)()
    if (E.isLeft(found)) return refuse(terminal, [found.left], options)
    if (found.right === undefined || id === '') return refuse(terminal, [noTurn(id)], options)
    const forgiven = await forgiveTurn(store, where.now(), found.right.turn)()
    if (E.isLeft(forgiven)) return refuse(terminal, [forgiven.left], options)
    const { turn, instance, microUsd, tokens } = forgiven.right
    terminal.out(
      options.json
        ? JSON.stringify({ turn, instance, forgivenUsd: usdFrom(microUsd), forgivenTokens: tokens })
        : `${showSpent(microUsd)}${tokens > 0 ? ` and ${tokens} tokens` : ''} given back to ${instance} for turn ${turn}.`,
    )
    return 0
  })
}
