import * as E from 'fp-ts/lib/Either.js'
import { stopInstances } from '../launch/stop.ts'
import { failure } from '../protocol/failure.ts'
import { operatorOnly } from './operator-only.ts'
import { refuse } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

const waitMs = 30_000

/** Asks the hosts of instances to end them, and waits until they are gone. */
export const stop = async (terminal: Terminal, names: readonly string[], options: Common): Promise<number> => {
  const refused = operatorOnly(terminal, '`errand stop`')
  if (refused !== undefined) return refuse(terminal, [refused], options)
  return withState(terminal, options, async state => {
    const done = await stopInstances(state, names, waitMs)()
    if (E.isLeft(done)) return refuse(terminal, done.left, options)
    const { stopped, still, forgotten } = done.right
    if (options.json) terminal.out(JSON.stringify({ stopped, still, forgotten }))
    else {
      for (const name of stopped) terminal.out(`${name} stopped`)
      for (const name of forgotten) terminal.out(`${name} was not running any more; its entry is dropped`)
      if (stopped.length + forgotten.length + still.length === 0) terminal.say('Nothing runs.')
    }
    if (still.length === 0) return 0
    const sentence = `Still ending after ${waitMs / 1000} s: ${still.join(', ')}. Ask again, or look with \`errand ps\`.`
    return refuse(terminal, [failure('timeout', sentence)], { ...options, json: false })
  })
}
