import { Worker } from 'node:worker_threads'
import type { Json } from '../protocol/decode.ts'
import type { Piece } from './parse-worker.ts'

/** A thread that parses long records. */
export interface Aside {
  /** The value of these bytes, which it takes over; nothing when they are not JSON, or when the thread died. */
  readonly parse: (bytes: ArrayBuffer) => Promise<Json | undefined>
  readonly close: () => void
}

/** Starts the thread. A value comes back in pieces, each small enough to be taken over between two other events. */
export const parseAside = (): Aside => {
  const worker = new Worker(
    new URL(import.meta.url.endsWith('.ts') ? './parse-worker.ts' : './parse-worker.js', import.meta.url),
  )
  worker.unref()
  let died = false
  const deaths = new Set<() => void>()
  const die = (): void => {
    died = true
    for (const tell of deaths) tell()
  }
  worker.on('error', die)
  worker.on('exit', die)

  const parse = (bytes: ArrayBuffer): Promise<Json | undefined> =>
    new Promise(resolve => {
      if (died) return resolve(undefined)
      const assembly = assemble()
      const finish = (value: Json | undefined): void => {
        deaths.delete(onDeath)
        worker.off('message', onPiece)
        worker.unref()
        resolve(value)
      }
      const onDeath = (): void => finish(undefined)
      const onPiece = (piece: Piece): void => {
        if (piece.kind === 'done') finish(assembly.value())
        else if (piece.kind === 'failed') finish(undefined)
        else {
          assembly.add(piece)
          setImmediate(() => worker.postMessage('more'))
        }
      }
      deaths.add(onDeath)
      worker.ref()
      worker.on('message', onPiece)
      worker.postMessage(bytes, [bytes])
    })

  return { parse, close: () => void worker.terminate() }
}

type Container = Json[] | Record<string, Json>

const assemble = () => {
  const containers: Container[] = []
  let root: Json | undefined

  const put = (into: number, key: string, value: Json): void => {
    const target = containers[into]
    if (target === undefined) root = value
    else if (Array.isArray(target)) target.push(value)
    // `__proto__` is a key like any other.
    else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  }

  const add = (piece: Extract<Piece, { kind: 'open' | 'values' }>): void => {
    if (piece.kind === 'open') {
      const container: Container = piece.list ? [] : {}
      put(piece.into, piece.key, container)
      containers.push(container)
    } else {
      piece.keys.forEach((key, at) => {
        put(piece.into, key, piece.values[at] ?? null)
      })
    }
  }

  return { add, value: () => root }
}
