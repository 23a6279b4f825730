import type { TurnRecord } from '../budget/ledger.ts'
import { showSpent, usdFrom } from '../protocol/money.ts'
import { showMoment, showSpan } from './span.ts'

/** One turn for programs (`errand log --json`). */
export const turnJson = (turn: TurnRecord) => ({
  turn: turn.turn,
  root: turn.root,
  parent: turn.parent ?? null,
  instance: turn.instance,
  from: turn.from,
  depth: turn.depth,
  engine: turn.engine,
  model: turn.model ?? null,
  session: turn.session ?? null,
  thread: turn.thread ?? null,
  startedAt: momentJson(turn.startedAtMs),
  endedAt: momentJson(turn.endedAtMs),
  state: turn.state,
  outcome: turn.outcome ?? null,
  ...(turn.error === undefined ? {} : { error: turn.error }),
  costUsd: turn.costMicroUsd === undefined ? null : usdFrom(turn.costMicroUsd),
  basis: turn.basis ?? null,
  ...(turn.forgivenMicroUsd === undefined ? {} : { forgivenUsd: usdFrom(turn.forgivenMicroUsd) }),
  tokens: turn.tokens,
})

export const turnHeadings = ['TURN', 'STARTED', 'INSTANCE', 'FROM', 'DEPTH', 'TOOK', 'COST', 'OUTCOME'] as const

/** One turn as a row of a table. */
export const turnRow = (turn: TurnRecord): readonly string[] => [
  turn.turn,
  showMoment(turn.startedAtMs ?? turn.createdAtMs),
  turn.instance,
  turn.from,
  String(turn.depth),
  tookOf(turn) ?? '-',
  costOf(turn),
  turn.outcome ?? turn.state,
]

/** One turn, a fact on a line. */
export const turnFacts = (turn: TurnRecord): readonly (readonly [string, string | undefined])[] => [
  ['turn', turn.turn],
  ['instance', `${turn.instance} (${[turn.engine, turn.model].filter(Boolean).join(', ')})`],
  ['from', `${turn.from}, depth ${turn.depth}`],
  ['parent', turn.parent],
  ['started', turn.startedAtMs === undefined ? 'not yet' : showMoment(turn.startedAtMs)],
  ['took', tookOf(turn)],
  ['outcome', turn.outcome ?? turn.state],
  ['error', turn.error],
  ['tokens', turn.tokens > 0 ? String(turn.tokens) : undefined],
  ['session', turn.session],
  ['thread', turn.thread],
  ['cost', costOf(turn)],
  ['forgiven', turn.forgivenMicroUsd === undefined ? undefined : showSpent(turn.forgivenMicroUsd)],
]

/** Names and what they stand for, below each other. */
export const showFacts = (facts: readonly (readonly [string, string | undefined])[]): string =>
  facts
    .filter(([, fact]) => fact !== undefined)
    .map(([name, fact]) => `${`${name}:`.padEnd(10)} ${fact}`)
    .join('\n')

export const tookOf = ({ startedAtMs, endedAtMs }: TurnRecord): string | undefined =>
  startedAtMs === undefined || endedAtMs === undefined ? undefined : showSpan(endedAtMs - startedAtMs)

// A question mark: nobody can tell, and so the hold was charged.
export const costOf = ({ costMicroUsd, basis }: TurnRecord): string =>
  costMicroUsd === undefined ? '-' : showSpent(costMicroUsd) + (basis === 'unknown' ? '?' : '')

const momentJson = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())
