import * as E from 'fp-ts/lib/Either.js'
import { turnRecord } from '../budget/turns.ts'
import { cancelTurn } from '../launch/cancel.ts'
import { recover } from '../launch/recover.ts'
import { answer } from './answer.ts'
import { noTurn } from './no-turn.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Ends a turn and all that it delegated, wherever that runs; says what was ended. */
export const cancel = (terminal: Terminal, id: string, options: Common): Promise<number> =>
  withState(terminal, options, async state => {
    // A turn whose host died is ended and settled by that.
    const recovered = state.inside === undefined ? await recover(state)() : E.right([])
    if (E.isLeft(recovered)) return refuse(terminal, [recovered.left], options)
    const found = await turnRecord(state.store, state.where.now(), id)()
    if (E.isLeft(found)) return refuse(terminal, [found.left], options)
    if (found.right === undefined || id === '') return refuse(terminal, [noTurn(id)], options)
    return answer(terminal, await cancelTurn(state, found.right)(), options)
  })
