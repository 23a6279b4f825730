import type { Config } from '../config/config.ts'
import { chainAt } from '../work/chain.ts'
import type { Terminal } from './terminal.ts'
import { tellFailure, tellWhole, type WorkFlags, work } from './work.ts'

/** Asks one instance after the other, each with the answer of the one before it, and prints the last answer. */
export const chain = (terminal: Terminal, all: readonly string[], flags: WorkFlags): Promise<number> => {
  const asked = ({ instances }: Config) => {
    const last = all.at(-1) ?? ''
    // What is no name is the prompt; alone, it is a name that is not right.
    const words = all.length > 1 && !instances.has(last) ? last : ''
    return { names: words === '' ? all : all.slice(0, -1), words }
  }
  return work(terminal, flags, asked, async (site, { names, prompt }, options) => {
    const steps = names.map((to, at) => (at === 0 ? { to, prompt } : { to }))
    const chained = await chainAt(site, { ...options, steps })()
    if (flags.json) terminal.out(JSON.stringify(chained))
    else if (chained.success) terminal.outAnswer(chained.text)
    const answered = chained.steps.filter(({ envelope }) => envelope.success)
    tellWhole(terminal, `${answered.length} of ${names.length} answered`, chained)
    if (chained.failure === undefined) return 0
    const status = tellFailure(terminal, chained.failure)
    for (const { to, envelope } of answered)
      terminal.say(`errand: ${to} had answered: errand log ${envelope.ext?.turn} --text`)
    return status
  })
}
