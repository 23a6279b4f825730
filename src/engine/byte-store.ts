/** Bytes of one record while it arrives, so kept that a long one is never copied as a whole. */
export interface ByteStore {
  readonly add: (bytes: Uint8Array) => void
  readonly length: () => number
  /** What is stored, as one piece that may be written on; it is valid until the next `add` or `clear`. */
  readonly bytes: () => Uint8Array
  /** Hands the storage over, after a last touch, and starts anew. */
  readonly take: (touch: (bytes: Uint8Array) => void) => ArrayBuffer
  readonly clear: () => void
}

/** Grows in place up to `limitBytes`: address space is reserved, memory only as it is filled. */
export const byteStore = (limitBytes: number): ByteStore => {
  const room = (): ArrayBuffer => new ArrayBuffer(firstBytes, { maxByteLength: Math.max(limitBytes, firstBytes) })
  let storage = room()
  // Follows the storage as it grows.
  let all = new Uint8Array(storage)
  let used = 0

  const anew = (): void => {
    storage = room()
    all = new Uint8Array(storage)
    used = 0
  }

  const add = (bytes: Uint8Array): void => {
    const needed = used + bytes.length
    if (needed > storage.byteLength)
      storage.resize(Math.min(Math.max(needed, storage.byteLength * 2), storage.maxByteLength))
    all.set(bytes, used)
    used = needed
  }

  const clear = (): void => {
    if (storage.byteLength > keptBytes) anew()
    used = 0
  }

  const take = (touch: (bytes: Uint8Array) => void): ArrayBuffer => {
    storage.resize(used)
    touch(all)
    const taken = storage
    anew()
    return taken
  }

  return { add, length: () => used, bytes: () => all.subarray(0, used), take, clear }
}

const firstBytes = 64 * 1024
const keptBytes = 1024 * 1024
