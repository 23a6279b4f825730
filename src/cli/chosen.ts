import type { Command } from 'commander'

/** A command that was asked for: loads its file, runs it, gives its exit status. */
export type Chosen = () => Promise<number>

/** Adds a command with its help. */
export type Add = (usage: string, summary: string, description: string, examples: readonly string[]) => Command
