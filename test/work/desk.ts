import type { ExecutionContext } from 'ava'
import { type Site, siteFor } from '../../src/launch/site.ts'
import type { State } from '../../src/launch/state.ts'
import { makeWorld, scripted, type World } from '../launch/world.ts'

/** A bus of command engines in this process, and the site that a piece of work is done on. */
export interface Desk {
  readonly world: World
  readonly state: State
  readonly site: Site
}

export const openDesk = async (t: ExecutionContext, instances: Readonly<Record<string, object>>): Promise<Desk> => {
  const world = await makeWorld(t)
  const state = await world.state({ instances })
  return { world, state, site: siteFor(state, Object.keys(instances), {}) }
}

/**
 * An instance that answers with what this body of a function of `prompt` returns. Each call adds a line to `NAME.calls`; it
 * has `fs`, and `pay(usd)`.
 */
export const answers = (name: string, body: string, more: Readonly<Record<string, unknown>> = {}) =>
  scripted(
    `const fs = require('fs')
     const pay = usd => fs.appendFileSync(process.env.ERRAND_REPORT, JSON.stringify({ usd }) + '\\n')
     const prompt = fs.readFileSync(0, 'utf8')
     fs.appendFileSync('${name}.calls', JSON.stringify(prompt) + '\\n')
     const answer = async prompt => { ${body} }
     answer(prompt).then(text => process.stdout.write(String(text)))`,
    more,
  )
