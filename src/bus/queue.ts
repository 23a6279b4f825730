/** A place in the line of one instance. */
export interface Ticket {
  /**
   * Whether it is its turn to try: a slot is free, and nobody before it comes first. If so it is nobody else's until `pass`,
   * `take` or `leave`.
   */
  readonly tries: () => boolean
  /** It tried, and has to wait. `aside`: for what is its own alone, so that it holds up nobody but its lane. */
  readonly pass: (aside: boolean) => void
  /** Leaves the line and takes the slot; gives back the way to free it. */
  readonly take: () => () => void
  /** Leaves the line. */
  readonly leave: () => void
}

/**
 * The line of one instance: first come, first served, `concurrency` slots; those of one lane strictly one after another. It
 * knows nothing of money.
 */
export interface Queue {
  readonly join: (lane?: string) => Ticket
  readonly waiting: () => number
  readonly running: () => number
  readonly slotFree: () => boolean
  /** So many of the slots are taken by turns of another host, which is being relieved. */
  readonly occupy: (slots: number) => void
  /** Resolves at the next change of the line (a slot was freed, another left), or when the signal aborts. */
  readonly change: (signal?: AbortSignal) => Promise<void>
}

interface Place {
  readonly lane: string | undefined
  aside: boolean
}

export const createQueue = (concurrency: number): Queue => {
  const line: Place[] = []
  const listeners = new Set<() => void>()
  let running = 0
  let occupied = 0
  let trying: Place | undefined

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

  const slotFree = (): boolean => running + occupied < concurrency

  const comesFirst = (place: Place): boolean =>
    line.slice(0, line.indexOf(place)).every(({ lane, aside }) => aside && (lane === undefined || lane !== place.lane))

  const join = (lane?: string): Ticket => {
    const place: Place = { lane, aside: false }
    line.push(place)

    const letTry = (): void => {
      if (trying === place) trying = undefined
    }

    const leave = (): void => {
      letTry()
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

    return {
      tries: () => {
        if (trying !== undefined || !slotFree() || !comesFirst(place)) return false
        trying = place
        return true
      },
      pass: aside => {
        letTry()
        place.aside = aside
        changed()
      },
      take,
      leave,
    }
  }

  const occupy = (slots: number): void => {
    if (slots === occupied) return
    occupied = slots
    changed()
  }

  return { join, change, slotFree, occupy, waiting: () => line.length, running: () => running }
}
