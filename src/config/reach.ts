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
