import * as E from 'fp-ts/lib/Either.js'
import { type Hosted, launchHere } from '../launch/launch.ts'
import { operatorOnly } from './operator-only.ts'
import { refuse, warn } from './refuse.ts'
import { showSpan } from './span.ts'
import { type Common, statusOfSignal, type Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

const graceMs = 10_000

/** Launches instances and keeps them until they are stopped. */
export const up = async (terminal: Terminal, names: readonly string[], options: Common): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand up`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  return withState(terminal, options, async state => {
    const launched = await launchHere(state, {
      ...(names.length === 0 ? {} : { only: names }),
      verbose: options.verbose === true,
    })()
    if (E.isLeft(launched)) return refuse(terminal, launched.left, options)
    warn(terminal, launched.right.warnings)
    for (const { name, engine, url, pid } of launched.right.instances) {
      const event = { event: 'listening', instance: name, url, pid }
      terminal.out(options.json ? JSON.stringify(event) : `${name} (${engine}) listens on ${url}`)
    }
    if (terminal.watched) terminal.say(terminal.dim('Ctrl-C stops.'))
    return keep(terminal, launched.right)
  })
}

const keep = async (terminal: Terminal, hosted: Hosted): Promise<number> => {
  let status = 0
  let asked = false
  const off = terminal.onSignal(signal => {
    // A second signal means it: what still runs is ended now.
    if (asked) status = statusOfSignal[signal]
    else if (terminal.watched)
      terminal.say(`Stopping; turns have ${showSpan(graceMs)} to end (Ctrl-C again ends them now).`)
    void hosted.stop(asked ? 0 : graceMs)
    asked = true
  })
  await hosted.stopped
  off()
  return status
}
