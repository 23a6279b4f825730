import * as E from 'fp-ts/lib/Either.js'
import type { Config } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { durationMs } from '../config/quantity.ts'
import { type Site, siteFor } from '../launch/site.ts'
import { openState } from '../launch/state.ts'
import type { FailureEnvelope } from '../protocol/envelope.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { oneLine } from '../protocol/failure.ts'
import { microUsdFrom, showSpent } from '../protocol/money.ts'
import { isThreadName, threadNames } from '../protocol/talk-request.ts'
import { isWorkBudget, type StepEvent, type WorkOptions } from '../work/options.ts'
import { exitStatusOf } from './answer.ts'
import { callerOf, closed } from './caller.ts'
import { operatorOnly } from './operator-only.ts'
import { progress } from './progress.ts'
import { readPrompt } from './prompt.ts'
import { refuse, warn } from './refuse.ts'
import { showSpan } from './span.ts'
import { tellEvent } from './tell-event.ts'
import type { Common, Terminal } from './terminal.ts'
import { configOf } from './with-state.ts'

/** What `fan`, `chain` and `verify` have in common. */
export interface WorkFlags extends Common {
  readonly budget?: string
  readonly timeout?: string
  readonly retry?: number
  readonly workflow?: string
  readonly fresh?: boolean
}

/** Does a piece of work with the instances of these names, and prints what became of it. */
export const work = async (
  terminal: Terminal,
  flags: WorkFlags,
  asked: (config: Config) => { readonly names: readonly string[]; readonly words: string },
  doIt: (
    site: Site,
    asked: { readonly names: readonly string[]; readonly prompt: string },
    options: WorkOptions,
  ) => Promise<number>,
): Promise<number> => {
  const wrong = wrongIn(flags)
  if (wrong !== undefined) {
    terminal.say(`errand: ${wrong}`)
    return usageExitStatus
  }
  for (const flag of ['budget', 'workflow'] as const) {
    const refused = flags[flag] === undefined ? undefined : operatorOnly(terminal, `--${flag}`)
    if (refused !== undefined) return refuse(terminal, [refused], flags)
  }
  const config = await configOf(terminal, flags)()
  if (E.isLeft(config)) return refuse(terminal, config.left, flags)
  const { names, words } = asked(config.right)
  const unknown = [...new Set(names)].filter(name => !config.right.instances.has(name))
  if (unknown.length > 0) {
    return refuse(
      terminal,
      unknown.map(name => noSuchInstance(config.right, name)),
      flags,
    )
  }
  const prompt = await readPrompt(terminal, words, config.right.bodyLimitBytes)()
  if (E.isLeft(prompt)) return refuse(terminal, [prompt.left], flags)
  const opened = await openState(config.right, terminal.where)()
  if (E.isLeft(opened)) return refuse(terminal, [opened.left], flags)
  if (flags.budget !== undefined) warn(terminal, uncapped(config.right, names))
  const caller = callerOf(terminal)
  const line = progress(terminal, `${[...new Set(names)].join(', ')} at work`)
  try {
    const site = siteFor(opened.right, names, {
      signal: caller.signal,
      verbose: flags.verbose === true,
      onEvent: event => line.while(() => tellEvent(terminal, event)),
    })
    const onStep = (event: StepEvent): void => line.while(() => tellStep(terminal, event))
    const options = { ...optionsOf(flags), signal: caller.signal, onStep }
    const status = await doIt(site, { names, prompt: prompt.right }, options)
    return caller.status() ?? status
  } finally {
    line.end()
    await closed(terminal, opened.right)
    caller.off()
  }
}

/** A failure in words, and its exit status. */
export const tellFailure = (terminal: Terminal, failure: FailureEnvelope): number => {
  terminal.say(`errand: ${failure.fromInstance}: ${oneLine(failure.error)}`)
  return exitStatusOf(failure)
}

/** The last line, for a person: what it cost, and where the tree is. */
export const tellWhole = (
  terminal: Terminal,
  what: string,
  { costUsd, root }: { readonly costUsd: number; readonly root?: string },
): void => {
  if (!terminal.watched) return
  const cost = microUsdFrom(costUsd)
  const parts = [what, cost === 'unknown' ? undefined : showSpent(cost), root && `errand log ${root}`]
  terminal.say(terminal.dim(parts.filter(Boolean).join(' · ')))
}

const wrongIn = ({ budget, timeout, workflow, fresh }: WorkFlags): string | undefined => {
  if (budget !== undefined && !isWorkBudget(dollarsOf(budget)))
    return `--budget must be dollars, such as 2 or 0.50, more than 0 and at most 10000; not "${budget}".`
  if (timeout !== undefined && !durationMs(timeout))
    return `--timeout must be a time such as 90s, 10m or 1h, at most 24d, not "${timeout}".`
  if (workflow !== undefined && !isThreadName(workflow)) return `--workflow must be ${threadNames}, not "${workflow}".`
  if (fresh === true && workflow === undefined) return '--fresh needs the --workflow that is to begin anew.'
  return undefined
}

const dollarsOf = (usd: string): number =>
  /^\$?\d{1,5}(\.\d{1,6})?$/.test(usd) ? Number(usd.replace('$', '')) : Number.NaN

const optionsOf = ({ budget, timeout, retry, workflow, fresh }: WorkFlags): WorkOptions => {
  const timeoutMs = timeout === undefined ? undefined : durationMs(timeout)
  return {
    ...(budget === undefined ? {} : { budgetUsd: dollarsOf(budget) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retry === undefined ? {} : { retry }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(fresh === undefined ? {} : { fresh }),
  }
}

// Each of their turns holds all that is left, so that two at once, or a turn and what it delegates, cannot be.
const uncapped = ({ instances }: Config, names: readonly string[]): readonly string[] =>
  [...new Set(names)]
    .filter(name => instances.get(name)?.limits.maxTurnMicroUsd === undefined)
    .map(
      name =>
        `${name} has no maxTurnUsd, so one turn of it holds all that is left of --budget, and others wait for that. Give it one.`,
    )

const tellStep = (terminal: Terminal, event: StepEvent): void => {
  if (!terminal.watched) return
  const who = `${event.step}. ${event.to}`
  if (event.kind === 'asked') {
    terminal.say(terminal.dim(`${who} is asked`))
    return
  }
  const { envelope, kept } = event
  const cost = microUsdFrom(envelope.ext?.costUsd)
  const parts = [
    `${who} ${envelope.success ? 'answered' : `failed: ${oneLine(envelope.error)}`}`,
    kept ? 'kept from before' : showSpan(envelope.durationMs),
    cost === 'unknown' ? undefined : showSpent(cost),
  ]
  terminal.say(terminal.dim(parts.filter(Boolean).join(' · ')))
}
