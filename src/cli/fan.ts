import { oneLine } from '../protocol/failure.ts'
import { fanAt } from '../work/fan.ts'
import { warn } from './refuse.ts'
import type { Terminal } from './terminal.ts'
import { tellFailure, tellWhole, type WorkFlags, work } from './work.ts'

export interface FanFlags extends WorkFlags {
  readonly to: readonly string[]
  readonly atOnce?: number
}

/** Asks several instances the same at once, and prints every answer. */
export const fan = (terminal: Terminal, words: string, flags: FanFlags): Promise<number> =>
  work(
    terminal,
    flags,
    () => ({ names: flags.to, words }),
    async (site, { prompt }, options) => {
      const { atOnce } = flags
      const branches = flags.to.map(to => ({ to, prompt }))
      const fanned = await fanAt(site, branches, { ...options, ...(atOnce === undefined ? {} : { atOnce }) })()
      if (flags.json) terminal.out(JSON.stringify(fanned))
      const failed = fanned.branches.flatMap(({ envelope }) => (envelope.success ? [] : [envelope]))
      for (const { to, envelope } of fanned.branches) {
        if (!envelope.success || flags.json) continue
        terminal.out(`== ${to} ==`)
        terminal.outAnswer(envelope.text)
        terminal.out('')
      }
      // Where some answered, it is done; what the others met is told all the same.
      if (fanned.success) {
        warn(
          terminal,
          failed.map(({ fromInstance, error }) => `${fromInstance}: ${oneLine(error)}`),
        )
      } else for (const one of failed.slice(1)) tellFailure(terminal, one)
      tellWhole(terminal, `${fanned.branches.length - failed.length} of ${fanned.branches.length} answered`, fanned)
      return fanned.failure === undefined ? 0 : tellFailure(terminal, fanned.failure)
    },
  )
