import * as E from 'fp-ts/lib/Either.js'
import { operator } from '../bus/identity.ts'
import { type Explained, explain } from '../launch/explain.ts'
import { type Speaker, speakerOf } from '../launch/speaker.ts'
import type { State } from '../launch/state.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { factsOf } from '../protocol/error-codes.ts'
import type { Failure } from '../protocol/failure.ts'
import type { CheckOptions } from './options.ts'
import { refuse, warn } from './refuse.ts'
import type { Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Says whether one may ask the other, and what stops it, without asking: the exit status is that of the talk. */
export const checkTalk = (terminal: Terminal, to: string, options: CheckOptions): Promise<number> =>
  withState(terminal, options, async state => {
    const asker = await askerOf(state, options)
    if (E.isLeft(asker)) return refuse(terminal, [asker.left], options)
    const { from, ownDepth } = asker.right
    const told = await explain(state, from, to, ownDepth)()
    if (E.isLeft(told)) return refuse(terminal, [told.left], options)
    warn(terminal, strangers(state, from))
    if (options.json) terminal.out(JSON.stringify(explainedJson(state, from, to, told.right)))
    else say(terminal, from, to, told.right)
    const { refusal } = told.right
    return refusal === undefined ? 0 : refuse(terminal, [refusal.why], { ...options, json: false })
  })

interface Asker {
  readonly from: string
  readonly ownDepth: number
}

/** Inside a turn whoever asks nothing else asks for itself. */
const askerOf = async (state: State, { from, depth }: CheckOptions): Promise<E.Either<Failure, Asker>> => {
  if (state.inside !== undefined && from === undefined && depth === undefined) {
    const turn = await speakerOf(state, {})()
    return E.map((turn: Speaker): Asker => ({ from: turn.fromInstance, ownDepth: turn.depth }))(turn)
  }
  // Whoever is asked has depth 1 at least, and so has whatever it asks.
  return E.right({ from: from ?? operator, ownDepth: depth ?? (from === undefined || from === operator ? 0 : 1) })
}

const say = (terminal: Terminal, from: string, to: string, { depth, refusal, chain }: Explained): void => {
  if (refusal === undefined) {
    terminal.out(`${from} may ask ${to}, at depth ${depth}.`)
    return
  }
  const { rule, key, file } = refusal.by
  terminal.out(`${from} may not ask ${to}, at depth ${depth}.`)
  terminal.out(key === undefined ? 'The rule: an instance never talks to itself.' : `The rule: ${key} in ${file}`)
  if (rule === 'peers' || rule === 'maxDepth') {
    terminal.out(
      chain === undefined
        ? `No chain of talks leads from ${from} to ${to}${rule === 'maxDepth' ? ' from that depth on' : ''}.`
        : `It could by way of: ${chain.join(' → ')}`,
    )
  }
}

const explainedJson = ({ config }: State, from: string, to: string, { depth, refusal, chain }: Explained) => ({
  success: refusal === undefined,
  from,
  to,
  depth,
  ...(refusal === undefined
    ? {}
    : {
        error: refusal.why.sentence,
        errorCode: refusal.why.code,
        retryable: factsOf(refusal.why.code).retryable,
        rule: refusal.by.rule,
        instance: refusal.by.instance,
        key: refusal.by.key ?? null,
      }),
  file: config.file,
  chain: chain ?? null,
})

const strangers = ({ config }: State, from: string): readonly string[] => {
  const known = config.instances.get(from)
  if (known === undefined && from !== operator) {
    return [`${config.file} has no instance "${from}".${didYouMean(from, config.instances.keys())}`]
  }
  return known?.enabled === false ? [`${from} is disabled, so it takes no talks from which it could ask.`] : []
}
