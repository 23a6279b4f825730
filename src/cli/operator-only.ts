import { insideTurn } from '../launch/inside.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Terminal } from './terminal.ts'

/** Why a program inside a turn may not do this; `undefined` where no turn is around. */
export const operatorOnly = (terminal: Terminal, what: string): Failure | undefined => {
  const inside = insideTurn(terminal.where)
  return inside === undefined
    ? undefined
    : failure(
        'peer_not_allowed',
        `${what} is for the operator: this runs inside turn ${inside.mark.split(':').at(-1)}, which may only talk to its peers.`,
      )
}
