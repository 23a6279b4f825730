import { type ErrorCode, factsOf } from '../protocol/error-codes.ts'

/** One thing that doctor looked at. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'problem'
  /** What it is about: the name of an engine or an instance, or a part of the bus. */
  readonly about: string
  /** For people: what, where, what to do. */
  readonly sentence: string
  /** The command that mends it, where there is one. */
  readonly mend?: string
  /** Of a problem: what a talk would fail with. */
  readonly code?: ErrorCode
}

type Mend = string | undefined

const withMend = (mend: Mend): { readonly mend?: string } => (mend === undefined ? {} : { mend })

export const fine = (about: string, sentence: string): Finding => ({ level: 'ok', about, sentence })

export const warning = (about: string, sentence: string, mend?: Mend): Finding => ({
  level: 'warning',
  about,
  sentence,
  ...withMend(mend),
})

/** What keeps an instance from running now. */
export const problem = (about: string, code: ErrorCode, sentence: string, mend?: Mend): Finding => ({
  level: 'problem',
  about,
  sentence,
  ...withMend(mend),
  code,
})

/** EX_CONFIG: a program, a folder or a login is missing; trying again does not bring it. */
const notReadyStatus = 78

/** 0 where nothing keeps an instance from running; else that of the first problem. */
export const exitStatusOf = (findings: readonly Finding[]): number => {
  const first = findings.find(({ level }) => level === 'problem')
  if (first === undefined) return 0
  const { retryable, exitStatus } = factsOf(first.code ?? 'auth')
  return retryable ? notReadyStatus : exitStatus
}
