import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { within } from './reap.ts'

/** Resolved when a stream has said all, or can say no more. */
export const endOf = (stream: Readable): Promise<void> =>
  new Promise(resolve => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })

/**
 * After the process has ended: what is still in the pipes is read. Something that left the group may hold them open for ever,
 * so that end of file is waited for no longer than `ms`.
 */
export const drained = async (ends: readonly Promise<void>[], ms: number): Promise<void> => {
  await within(Promise.all(ends), ms)
  // A loop that was busy for all that time has not read yet what lies there.
  for (let turn = 0; turn < 2; turn++) await nextTurn()
}

/** How a process ended. */
export interface Exit {
  readonly exitCode?: number
  readonly signal?: string
}

/** Told by the process itself, never by its pipes: a grandchild can hold those. */
export const exitOf = (child: EventEmitter): Promise<Exit> =>
  new Promise(resolve => {
    child.once('exit', (code: unknown, signal: unknown) =>
      resolve({
        ...(typeof code === 'number' ? { exitCode: code } : {}),
        ...(typeof signal === 'string' ? { signal } : {}),
      }),
    )
  })
