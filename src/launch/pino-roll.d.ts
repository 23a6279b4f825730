// pino-roll ships no types; these are the options that we use.
declare module 'pino-roll' {
  import type { EventEmitter } from 'node:events'

  interface Rolling extends EventEmitter {
    write(line: string): boolean
    flushSync(): void
    end(): void
  }

  interface RollOptions {
    readonly file: string
    readonly extension: string
    /** `2m` is 2 MB. */
    readonly size: string
    readonly limit: { readonly count: number; readonly removeOtherLogFiles: boolean }
    readonly mode: number
    readonly mkdir: boolean
    readonly sync: boolean
    /** Of sonic-boom, which writes: in bytes. */
    readonly maxLength: number
  }

  const roll: (options: RollOptions) => Promise<Rolling>
  export default roll
}
