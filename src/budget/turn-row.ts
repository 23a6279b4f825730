import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { countColumn, textColumn } from '../store/columns.ts'
import type { Sql } from '../store/sql.ts'
import type { Allowance, Limits } from './budget.ts'
import type { Windows } from './windows.ts'

/** What the rules need of a turn's row. `heldMicroUsd` and `heldTokens` are missing where nothing limits them. */
export type TurnRow = t.TypeOf<typeof turnRow>

export const turnRowOf = (sql: Sql, turn: string): TurnRow | undefined =>
  sql.one(
    turnRow,
    `SELECT instance, root, state, limits, day, month, heldMicroUsd, heldTokens, seenMicroUsd, seenTokens, costMicroUsd, basis,
       tokens, creditsBefore
     FROM turns WHERE turn = ?`,
    turn,
  )

export const heldBy = ({ heldMicroUsd, heldTokens }: TurnRow): Allowance => ({
  ...(heldMicroUsd === undefined ? {} : { microUsd: heldMicroUsd }),
  ...(heldTokens === undefined ? {} : { tokens: heldTokens }),
})

/** The windows that it was held in; none while it waits. */
export const windowsHeldIn = ({ day, month }: TurnRow): Windows | undefined =>
  day === undefined || month === undefined ? undefined : { total: 'total', month, day }

export const stateColumn = t.union([t.literal('waiting'), t.literal('running'), t.literal('ending'), t.literal('done')])

export const basisColumn = t.union([
  t.literal('reported'),
  t.literal('priced'),
  t.literal('none'),
  t.literal('unknown'),
])

const budget = t.intersection([
  t.type({ per: t.union([t.literal('total'), t.literal('day'), t.literal('month')]) }),
  t.partial({ microUsd: countColumn, tokens: countColumn, turns: countColumn }),
])

const limits: t.Type<Limits, unknown, unknown> = t.partial({
  budget,
  total: budget,
  root: budget,
  maxTurnMicroUsd: countColumn,
  maxTurnTokens: countColumn,
})

const limitsColumn = new t.Type<Limits, unknown, unknown>(
  'limits as JSON',
  limits.is,
  (value, context) => {
    const parsed = E.tryCatch(
      () => JSON.parse(String(value)),
      () => t.failure<Limits>(value, context),
    )
    return E.isLeft(parsed) ? parsed.left : limits.validate(parsed.right, context)
  },
  JSON.stringify,
)

const turnRow = t.intersection([
  t.type({
    instance: textColumn,
    root: textColumn,
    state: stateColumn,
    limits: limitsColumn,
    seenMicroUsd: countColumn,
    seenTokens: countColumn,
    tokens: countColumn,
  }),
  t.partial({
    day: textColumn,
    month: textColumn,
    heldMicroUsd: countColumn,
    heldTokens: countColumn,
    costMicroUsd: countColumn,
    basis: basisColumn,
    creditsBefore: countColumn,
  }),
])
