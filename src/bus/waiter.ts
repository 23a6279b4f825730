import type { Tell } from './progress.ts'

/** Who waits for the answer of a talk. */
export interface Waiter {
  /** Aborts when the caller is gone. */
  readonly hungUp: AbortSignal
  /** Set where the caller follows its talk. */
  readonly tell?: Tell | undefined
  /** Whether anybody waits at present; set where several may wait together. */
  readonly waitedFor?: () => boolean
}
