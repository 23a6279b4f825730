import type { TurnRecord } from '../budget/ledger.ts'
import type { RootState } from '../budget/roots.ts'
import { showLimit, showSpent, usdFrom } from '../protocol/money.ts'
import { costOf, tookOf, turnJson } from './turn-words.ts'

/** A turn, and what it delegated. */
export interface Branch {
  readonly turn: TurnRecord
  readonly below: readonly Branch[]
  /** Of the turn and all below it, as far as it is known. */
  readonly sumMicroUsd: number
}

/** The turn and all below it; `family` are all turns of its root. */
export const branchOf = (turn: TurnRecord, family: readonly TurnRecord[]): Branch => {
  const below = family.filter(({ parent }) => parent === turn.turn).map(child => branchOf(child, family))
  return { turn, below, sumMicroUsd: (turn.costMicroUsd ?? 0) + sumOf(below) }
}

/** All turns of a root that have no parent among them: one, or the talks of a piece of work. */
export const branchesOf = (family: readonly TurnRecord[]): readonly Branch[] =>
  family.filter(({ parent }) => parent === undefined).map(turn => branchOf(turn, family))

/** A line for each turn, with its own cost, and that of all below it where there is more. */
export const drawBranches = (branches: readonly Branch[], indent = ''): readonly string[] =>
  branches.flatMap((branch, at) => {
    const last = at === branches.length - 1
    return [
      `${indent}${last ? '└─' : '├─'} ${lineOf(branch)}`,
      ...drawBranches(branch.below, `${indent}${last ? '  ' : '│ '} `),
    ]
  })

export const lineOf = ({ turn, below, sumMicroUsd }: Branch): string =>
  [
    turn.instance,
    costOf(turn) + (below.length > 0 ? ` (${showSpent(sumMicroUsd)} with what it delegated)` : ''),
    tookOf(turn),
    turn.outcome ?? turn.state,
    turn.turn,
  ]
    .filter(Boolean)
    .join('  ')

/** For programs: every turn, parents before their children. */
export const branchJson = (branch: Branch): readonly object[] => [
  { ...turnJson(branch.turn), treeCostUsd: usdFrom(branch.sumMicroUsd) },
  ...branch.below.flatMap(branchJson),
]

/** A piece of work: its money, and the turns that it began with under one head. */
export const drawWork = (work: RootState, branches: readonly Branch[]): string =>
  [`work ${work.root}  ${spentOf(work)}`, ...drawBranches(branches)].join('\n')

/** The same for programs. */
export const workJson = (work: RootState, branches: readonly Branch[]) => ({
  root: work.root,
  budgetUsd: work.limitMicroUsd === undefined ? null : usdFrom(work.limitMicroUsd),
  costUsd: usdFrom(work.spentMicroUsd),
  heldUsd: usdFrom(work.heldMicroUsd),
  tree: branches.flatMap(branchJson),
})

/** `$0.3000 of $1.00, $0.1000 held` */
export const spentOf = ({ spentMicroUsd, limitMicroUsd, heldMicroUsd }: RootState): string => {
  const of = limitMicroUsd === undefined ? '' : ` of ${showLimit(limitMicroUsd)}`
  return `${showSpent(spentMicroUsd)}${of}${heldMicroUsd > 0 ? `, ${showSpent(heldMicroUsd)} held` : ''}`
}

const sumOf = (branches: readonly Branch[]): number => branches.reduce((sum, { sumMicroUsd }) => sum + sumMicroUsd, 0)
