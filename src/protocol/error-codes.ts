/** What one code means to a caller, to HTTP and to a shell (docs/protocol.md, "Codes"). */
export interface CodeFacts {
  readonly retryable: boolean
  /** A hint: the envelope is the truth. */
  readonly httpStatus: number
  /** 75 (EX_TEMPFAIL) exactly when retryable. */
  readonly exitStatus: number
}

const row = (retryable: boolean, httpStatus: number, exitStatus: number): CodeFacts => ({
  retryable,
  httpStatus,
  exitStatus,
})

/** THE table: the protocol's 21 codes, then those that we add. */
export const errorCodes = {
  invalid_request: row(false, 400, 65),
  request_too_large: row(false, 413, 65),
  bus_disabled: row(false, 403, 78),
  auth_failed: row(false, 401, 77),
  peer_not_allowed: row(false, 403, 77),
  max_depth_exceeded: row(false, 403, 77),
  invalid_handler_response: row(true, 500, 75),
  internal_error: row(true, 500, 75),
  instance_unavailable: row(true, 503, 75),
  invalid_response: row(true, 502, 75),
  timeout: row(true, 504, 75),
  budget_exhausted: row(false, 402, 77),
  auth: row(false, 502, 78),
  write_permission: row(false, 502, 77),
  telegram_conflict: row(true, 502, 75),
  telegram_delivery: row(true, 502, 75),
  engine_cli: row(true, 502, 75),
  file_workflow: row(false, 500, 70),
  workflow_state: row(false, 500, 70),
  session_state: row(false, 409, 70),
  unknown: row(true, 500, 75),

  rate_limited: row(true, 429, 75),
  busy: row(true, 503, 75),
  turns_exhausted: row(false, 403, 77),
  quota_exhausted: row(false, 502, 78),
  cancelled: row(false, 499, 70),
  idempotency_conflict: row(false, 409, 65),
} as const satisfies Record<string, CodeFacts>

/** A wire code that this version knows. The tag of a failure is its wire code. */
export type ErrorCode = keyof typeof errorCodes

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorCodes, code)

/** The exit status of a command line that is wrong; not a code of the bus. */
export const usageExitStatus = 64

/** All went well, but the answer could not be written to stdout (EX_IOERR); not a code of the bus either. */
export const lostExitStatus = 74

/** A code that we do not know is taken as retryable, unless the wire says otherwise. */
export const factsOf = (code: string): CodeFacts => (isErrorCode(code) ? errorCodes[code] : errorCodes.unknown)
