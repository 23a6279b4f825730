import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { type MicroUsd, maxTurnMicroUsd } from '../protocol/money.ts'
import type { Store } from '../store/store.ts'
import type { Per } from './budget.ts'
import { windowsOf } from './windows.ts'

/** Money that the operator adds to a budget, in its current window. */
export interface Credit {
  /** An instance, or `*`. */
  readonly scope: string
  readonly microUsd: MicroUsd
  /** Of the budget that it is added to. */
  readonly per: Per
  readonly note?: string
}

export const addCredit = (
  store: Store,
  nowMs: number,
  { scope, microUsd, per, note }: Credit,
): TE.TaskEither<Failure, void> =>
  pipe(
    windowsOf(nowMs)[per],
    TE.fromPredicate(
      () => Number.isSafeInteger(microUsd) && microUsd > 0 && microUsd <= maxTurnMicroUsd,
      (): Failure => failure('invalid_request', 'What is added to a budget is more than $0 and at most $10,000.'),
    ),
    TE.chain(window =>
      store.write(sql => {
        sql.run(
          `INSERT INTO balances (scope, window, creditMicroUsd) VALUES (?, ?, ?)
           ON CONFLICT (scope, window) DO UPDATE SET creditMicroUsd = creditMicroUsd + excluded.creditMicroUsd`,
          scope,
          window,
          microUsd,
        )
        sql.run(
          `INSERT INTO credits (scope, window, kind, microUsd, note, createdAtMs) VALUES (?, ?, 'add', ?, ?, ?)`,
          scope,
          window,
          microUsd,
          note ?? null,
          nowMs,
        )
      }),
    ),
  )
