import { operator } from '../bus/identity.ts'
import type { Askable } from '../bus/instance.ts'
import type { InstanceConfig } from './config.ts'

interface Peers {
  readonly instances: ReadonlyMap<string, Pick<InstanceConfig, 'name' | 'enabled' | 'peers'>>
}

/** The instance and every enabled one that a talk to it could reach: peers say who may talk, so they are read backwards. */
export const reachOf = ({ instances }: Peers, name: string): readonly string[] => {
  const reached = new Set([name])
  for (const from of reached) {
    for (const { name: to, enabled, peers } of instances.values()) {
      if (enabled && (peers.includes(from) || peers.includes('*'))) reached.add(to)
    }
  }
  return [...reached]
}

interface Asked {
  readonly instances: ReadonlyMap<
    string,
    Pick<InstanceConfig, 'name' | 'enabled' | 'peers' | 'maxDepth' | 'description'>
  >
}

/** Whom one may ask: the enabled instances that have it among their peers; the operator, all of them. */
export const askableBy = ({ instances }: Asked, name: string): readonly Askable[] =>
  [...instances.values()]
    .filter(({ enabled, name: to }) => enabled && to !== name)
    .filter(({ peers }) => name === operator || peers.includes('*') || peers.includes(name))
    .map(({ name, maxDepth, description }) => ({
      name,
      maxDepth,
      ...(description === undefined ? {} : { description }),
    }))

interface Chained {
  readonly instances: ReadonlyMap<string, Pick<InstanceConfig, 'name' | 'enabled' | 'peers' | 'maxDepth'>>
}

/**
 * The shortest chain of talks by which an errand of `from`, whose own depth is this, could come to `to`: both ends included.
 * `undefined`: there is none, or none that is short enough for every `maxDepth` on it.
 */
export const chainTo = (
  { instances }: Chained,
  from: string,
  to: string,
  ownDepth: number,
): readonly string[] | undefined => {
  const seen = new Set([from])
  let chains: readonly (readonly string[])[] = [[from]]
  for (let depth = ownDepth + 1; chains.length > 0; depth++) {
    const longer: (readonly string[])[] = []
    for (const chain of chains) {
      const last = chain.at(-1) ?? from
      for (const { name, enabled, peers, maxDepth } of instances.values()) {
        const hears = last === operator || peers.includes('*') || peers.includes(last)
        if (seen.has(name) || !enabled || !hears || depth > maxDepth) continue
        if (name === to) return [...chain, name]
        seen.add(name)
        longer.push([...chain, name])
      }
    }
    chains = longer
  }
  return undefined
}
