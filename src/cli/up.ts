import * as E from 'fp-ts/lib/Either.js'
import type { Hosted } from '../launch/hosted.ts'
import { launchHere } from '../launch/launch.ts'
import { takeOver } from '../launch/take-over.ts'
import { operatorOnly } from './operator-only.ts'
import type { UpOptions } from './options.ts'
import { refuse, warn } from './refuse.ts'
import { type StopSignal, statusOfSignal, type Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

const graceMs = 10_000

/** Launches instances and keeps them until they are stopped. */
export const up = async (terminal: Terminal, names: readonly string[], options: UpOptions): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand up`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  return withState(terminal, options, async state => {
    const ending = endingOf(terminal)
    const launched = await (options.takeOver === true ? takeOver : launchHere)(state, {
      ...(names.length === 0 ? {} : { only: names }),
      verbose: options.verbose === true,
      tell: terminal.say,
    })()
    if (E.isLeft(launched)) return refuse(terminal, launched.left, options)
    warn(terminal, launched.right.warnings)
    for (const { name, engine, url, pid } of launched.right.instances) {
      const event = { event: 'listening', instance: name, url, pid }
      terminal.out(options.json ? JSON.stringify(event) : `${name} (${engine}) listens on ${url}`)
    }
    for (const sentence of launched.right.relieved?.told ?? []) terminal.say(sentence)
    void launched.right.relieved?.late.then(sentences => warn(terminal, sentences))
    if (terminal.watched) terminal.say(terminal.dim('Ctrl-C stops.'))
    return ending(launched.right)
  })
}

/** Hears signals from now on, also while the launch is under way; the returned function waits for the end of what runs. */
const endingOf = (terminal: Terminal): ((hosted: Hosted) => Promise<number>) => {
  const heard: StopSignal[] = []
  let hosted: Hosted | undefined
  const end = () => {
    if (hosted === undefined || heard.length === 0) return
    // A second signal means it: what still runs is ended now.
    void hosted.stop(heard.length > 1 ? 0 : graceMs)
  }
  const off = terminal.onSignal(signal => {
    heard.push(signal)
    if (heard.length === 1 && terminal.watched) {
      terminal.say(`Stopping; turns have ${graceMs / 1000} s to end. Ctrl-C again ends them now.`)
    }
    end()
  })
  return async launched => {
    hosted = launched
    end()
    await launched.stopped
    off()
    const [, second] = heard
    return second === undefined ? 0 : statusOfSignal[second]
  }
}
