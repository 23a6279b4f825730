/** A place in the line of one instance. */
export interface Ticket {
  /** First in line, and a slot is free. */
  readonly isNext: () => boolean
  /** As the line's own. */
  readonly change: Queue['change']
  /** Leaves the line and takes the slot; gives back the way to free it. */
  readonly take: () => () => void
  /** Leaves the line. */
  readonly leave: () => void
}

/** The line of one instance: first come, first served, `concurrency` slots. It knows nothing of money. */
export interface Queue {
  readonly join: () => Ticket
  readonly waiting: () => number
  readonly running: () => number
  /** Resolves at the next change of the line (a slot was freed, another left), or when the signal aborts. */
  readonly change: (signal?: AbortSignal) => Promise<void>
}

export const createQueue = (concurrency: number): Queue => {
  const line: symbol[] = []
  const listeners = new Set<() => void>()
  let running = 0

  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }

  const change = (signal?: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      const done = (): void => {
        listeners.delete(done)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      if (signal?.aborted) return resolve()
      listeners.add(done)
      signal?.addEventListener('abort', done, { once: true })
    })

  const join = (): Ticket => {
    const place = Symbol('place')
    line.push(place)

    const leave = (): void => {
      const at = line.indexOf(place)
      if (at === -1) return
      line.splice(at, 1)
      changed()
    }

    const take = (): (() => void) => {
      running += 1
      leave()
      let taken = true
      return () => {
        if (!taken) return
        taken = false
        running -= 1
        changed()
      }
    }

    return { isNext: () => line[0] === place && running < concurrency, change, take, leave }
  }

  return { join, change, waiting: () => line.length, running: () => running }
}
