import { oneLine } from '../protocol/failure.ts'
import { verifyAt } from '../work/verify.ts'
import type { Terminal } from './terminal.ts'
import { tellFailure, tellWhole, type WorkFlags, work } from './work.ts'

export interface VerifyFlags extends WorkFlags {
  readonly by: string
  readonly most?: number
  readonly criteria?: string
}

/** The exit status of an answer that its judge did not let pass: nothing failed, and it is not done either. */
const notPassed = 1

/** Has one instance answer and another judge, and prints the last answer. */
export const verify = (terminal: Terminal, name: string, words: string, flags: VerifyFlags): Promise<number> =>
  work(
    terminal,
    flags,
    () => ({ names: [name, flags.by], words }),
    async (site, { prompt }, options) => {
      const { most, criteria } = flags
      const verified = await verifyAt(site, {
        ...options,
        prompt,
        by: name,
        judge: flags.by,
        ...(most === undefined ? {} : { atMost: most }),
        ...(criteria === undefined ? {} : { criteria }),
      })()
      const { passed, answer, verdicts, failure } = verified
      if (flags.json) terminal.out(JSON.stringify(verified))
      else if (answer !== '') terminal.outAnswer(answer)
      tellWhole(terminal, `${passed ? 'passed' : 'not passed'} after ${verdicts.length} judged`, verified)
      if (failure !== undefined) return tellFailure(terminal, failure)
      if (passed) return 0
      terminal.say(
        `errand: ${flags.by} let no answer pass (${verdicts.length}): ${oneLine(verdicts.at(-1)?.reason ?? '')}`,
      )
      return notPassed
    },
  )
