import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Setup } from './setups.ts'

/** A home, a folder to work in and a folder of programs, all of one test alone. */
export interface Place {
  readonly folder: string
  readonly home: string
  readonly cwd: string
  readonly bin: string
  /** What a CLI finds around itself there: nothing of the machine but PATH. */
  readonly environment: (setup: Setup) => Readonly<Record<string, string>>
  /** Writes what the setup keeps in the home folder. */
  readonly furnish: (setup: Setup) => Promise<void>
  readonly remove: () => Promise<void>
}

/** An address at which nobody listens. */
export const closedUrl = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

export const makePlace = async (): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-engines-'))
  const [home, cwd, bin] = [join(folder, 'home'), join(folder, 'work'), join(folder, 'bin')]
  for (const one of [home, cwd, bin]) await mkdir(one)
  await writeFile(join(bin, 'errand'), '#!/bin/sh\necho "errand ran: $* with $ERRAND_TOKEN"\n')
  await chmod(join(bin, 'errand'), 0o755)
  return {
    folder,
    home,
    cwd,
    bin,
    environment: ({ env }) => ({
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      ...nowhere,
      ...env,
      ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
    }),
    furnish: async ({ files }) => {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(home, name)), { recursive: true })
        await writeFile(join(home, name), JSON.stringify(content))
      }
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  }
}

// What does not go to loopback goes nowhere: no telemetry, no updates, no list of models, on any machine alike.
const nowhere = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
}
