/** A small generator (mulberry32), so that a failing sequence can be run again by its seed. */
export const randomOf = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  const pick = <A>(list: readonly A[]): A => {
    const picked = list[below(list.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
  return { below, pick }
}
