import * as t from 'io-ts/lib/index.js'
import { textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Relative } from './ledger.ts'
import { stateColumn } from './turn-row.ts'

/** All turns under the root of this one, oldest first. */
export const familyOf = (sql: Sql, turn: string): readonly Relative[] =>
  sql.all(
    relative,
    `SELECT turn, parent, instance, owner, state, outcome FROM turns
     WHERE root = (SELECT root FROM turns WHERE turn = ?) ORDER BY number`,
    turn,
  )

const relative: t.Decoder<unknown, Relative> = t.intersection([
  t.type({ turn: textColumn, instance: textColumn, owner: textColumn, state: stateColumn }),
  t.partial({ parent: textColumn, outcome: textColumn }),
])
