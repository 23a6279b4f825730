const lastThings = new Set<() => void>()

const doAll = (): void => {
  for (const last of lastThings) last()
}

/** Does something at once when the process ends, until it is taken back. One listener for all, however many hosts there are. */
export const atExit = (last: () => void): (() => void) => {
  if (lastThings.size === 0) process.on('exit', doAll)
  lastThings.add(last)
  return () => {
    if (lastThings.delete(last) && lastThings.size === 0) process.off('exit', doAll)
  }
}
