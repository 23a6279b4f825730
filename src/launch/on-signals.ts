const ending = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Ends something before a signal ends the process. Where the script listens for the signal too, its end is the script's own
 * affair; else the signal is then given its way.
 */
export const onSignals = (end: () => Promise<unknown>): { readonly off: () => void } => {
  const heard = (signal: NodeJS.Signals) => {
    // Looked at first, for what hears once is gone afterwards. Lasting ones are counted at the end: those of running
    // children (execa's) go with the children.
    const hearsOnce = process.rawListeners(signal).some(listener => 'listener' in listener)
    void end().finally(() => {
      off()
      if (!hearsOnce && process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  const off = () => {
    for (const signal of ending) process.off(signal, heard)
  }
  for (const signal of ending) process.prependListener(signal, heard)
  return { off }
}
