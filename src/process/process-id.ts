/** A process, told from another one that gets its pid later. Text fields are compared, never computed with. */
export interface ProcessId {
  readonly pid: number
  /** Linux: field 22 of /proc/PID/stat (clock ticks since boot); macOS: `ps -o lstart=`. */
  readonly startTime: string
  /** The boot that it lives in. */
  readonly bootId: string
  /** The pid namespace that `pid` belongs to; empty where there are none. */
  readonly pidNamespace: string
}
