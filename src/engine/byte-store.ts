/** Bytes of one record while it arrives, so kept that a long one is hardly ever copied. */
export interface ByteStore {
  readonly add: (bytes: Uint8Array) => void
  readonly length: () => number
  /** What is stored, as one piece that may be written on; it is valid until the next `add` or `clear`. */
  readonly bytes: () => Uint8Array
  /** Hands the storage over, after a last touch, and starts anew. */
  readonly take: (touch: (bytes: Uint8Array) => void) => ArrayBuffer
  readonly clear: () => void
}

/**
 * Up to `limitBytes`. Short records live in a room that is used again and again; for a long one address space is reserved up
 * to the limit, and memory is taken as it is filled.
 */
export const byteStore = (limitBytes: number): ByteStore => {
  const room = (bytes: number, maxByteLength: number): ArrayBuffer => new ArrayBuffer(bytes, { maxByteLength })
  let storage = room(firstBytes, roomBytes)
  // Follows the storage as it grows.
  let all = new Uint8Array(storage)
  let used = 0

  const moveTo = (next: ArrayBuffer): void => {
    storage = next
    all = new Uint8Array(storage)
  }

  const grow = (needed: number): void => {
    const longer = Math.max(needed, storage.byteLength * 2)
    if (needed <= storage.maxByteLength) {
      storage.resize(Math.min(longer, storage.maxByteLength))
      return
    }
    const before = all.subarray(0, used)
    moveTo(room(Math.min(longer, limitBytes), limitBytes))
    all.set(before)
  }

  return {
    add: bytes => {
      const needed = used + bytes.length
      if (needed > storage.byteLength) grow(needed)
      all.set(bytes, used)
      used = needed
    },
    length: () => used,
    bytes: () => all.subarray(0, used),
    take: touch => {
      touch(all.subarray(0, used))
      storage.resize(used)
      const taken = storage
      moveTo(room(firstBytes, roomBytes))
      used = 0
      return taken
    },
    clear: () => {
      if (storage.maxByteLength > roomBytes) moveTo(room(firstBytes, roomBytes))
      used = 0
    },
  }
}

const firstBytes = 64 * 1024
const roomBytes = 1024 * 1024
