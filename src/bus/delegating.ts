import { join } from 'node:path'
import type { McpServer } from '../engine/engine.ts'
import type { EngineSettings } from '../engine/settings.ts'
import type { Host } from './host.ts'
import { operator } from './identity.ts'
import type { Askable, Instance } from './instance.ts'

/** What is added to a turn so that its agent knows that it may delegate, and can. */
export interface Delegating {
  readonly settings: EngineSettings
  readonly mcp?: McpServer
}

/**
 * A CLI that takes an MCP server is told by that server, and gets nothing else; for another one a paragraph goes before its
 * instructions. A turn that nobody would listen to is told nothing.
 */
export const delegatingOf = (
  { binFolder, environment }: Pick<Host, 'binFolder' | 'environment'>,
  { name, settings, asks = [] }: Pick<Instance, 'name' | 'settings' | 'asks'>,
  depth: number,
): Delegating => {
  const others = asks.filter(({ maxDepth }) => depth < maxDepth)
  if (others.length === 0) return { settings }
  if (settings.engine.takesMcp === true) return { settings, mcp: serverOf(binFolder, environment) }
  const paragraph = aboutDelegating(name, others, byShell)
  const instructions = [paragraph, settings.instructions ?? ''].filter(part => part !== '').join('\n\n')
  return { settings: { ...settings, instructions } }
}

// By name alone; some CLIs pass nothing on that is not named, and complain of what is named and not there.
const serverOf = (binFolder: string, environment: Host['environment']): McpServer => ({
  name: serverName,
  command: join(binFolder, 'errand'),
  args: ['mcp'],
  env: ['ERRAND_TOKEN', 'ERRAND_TURN', 'ERRAND_CONFIG', ...(environment['XDG_STATE_HOME'] ? ['XDG_STATE_HOME'] : [])],
})

export const serverName = 'errand'

const byShell = 'run `errand talk NAME "what to do"` in your shell, which prints the answer'

/** Who somebody is, whom it may ask, how and when: the one paragraph that an agent gets. Short, however many they are. */
export const aboutDelegating = (name: string, others: readonly Askable[], how: string): string => {
  // A person's own agent has no name here.
  const who = name === operator ? '' : `You are "${name}", one of several agents on this machine. `
  if (others.length === 0) return `${who}There is nobody that you may ask.`
  return (
    `${who}You may ask: ${listed(others)}. To delegate a task that one of them does better, ${how}. They see nothing of your ` +
    'conversation: say all that they need. Each answer costs money.'
  )
}

const namesChars = 360
const descriptionChars = 90

const listed = (others: readonly Askable[]): string => {
  const said: string[] = []
  let chars = 0
  for (const { name, description } of others) {
    const words = description === undefined ? name : `${name} (${shortened(description)})`
    chars += words.length
    if (chars > namesChars) return [...said, `and ${others.length - said.length} more`].join(', ')
    said.push(words)
  }
  return said.join(', ')
}

const shortened = (text: string): string => {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= descriptionChars ? flat : `${flat.slice(0, descriptionChars - 1)}…`
}
