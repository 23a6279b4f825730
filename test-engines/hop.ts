import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Access } from '../src/engine/engine.ts'
import { type CliName, latestCli, pinnedCli } from './clis.ts'
import { type Mode, startModel } from './model.ts'
import { makePlace } from './place.ts'
import { setupOf } from './setups.ts'

/** One instance of a bus: a real CLI on the model, or a program. */
export type Member =
  | { readonly cli: CliName; readonly mode: Mode; readonly access?: Access; readonly more?: object }
  | { readonly command: readonly string[]; readonly more?: object }

/** A bus on real CLIs, as a person would set it up: a budgets.json, and `errand` on the command line. */
export interface Hop {
  readonly folder: string
  /** Runs the command line to its end. */
  readonly errand: (...args: readonly string[]) => Promise<{ readonly status: number | null; readonly stdout: string }>
  readonly close: () => Promise<void>
}

const script = join(import.meta.dirname, '..', 'bin', 'errand.js')
const isPinned = process.env['ERRAND_DRIFT'] !== undefined

export const openHop = async (members: Readonly<Record<string, Member>>): Promise<Hop> => {
  const place = await makePlace()
  const model = await startModel({ command: 'errand talk worker "Say hi <<BETA>>"', path: join(place.cwd, 'made.txt') })
  let environment: Readonly<Record<string, string>> = { XDG_STATE_HOME: join(place.folder, 'state') }
  const instances: Record<string, object> = {}
  for (const [name, member] of Object.entries(members)) {
    if ('command' in member) {
      instances[name] = { engine: 'command', command: member.command, cwd: place.cwd, ...member.more }
      continue
    }
    const { cli, mode, access, more } = member
    const { path } = await (isPinned ? pinnedCli(cli) : latestCli(cli))
    const setup = setupOf(cli, model.url(mode))
    await place.furnish(setup)
    environment = { ...place.environment(setup), ...environment }
    const facts = { engine: cli, cli: path, model: setup.model, args: setup.args, env: setup.envNames, cwd: place.cwd }
    instances[name] = { ...facts, ...(access === undefined ? {} : { access }), ...more }
  }
  await writeFile(join(place.folder, 'budgets.json'), JSON.stringify({ instances }))
  return {
    folder: place.folder,
    errand: (...args) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [script, ...args], {
          cwd: place.folder,
          env: environment,
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        let stdout = ''
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          stdout += text
        })
        child.on('error', reject)
        child.on('close', status => resolve({ status, stdout }))
      }),
    close: async () => {
      await model.stop()
      await place.remove()
    },
  }
}
