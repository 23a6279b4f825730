const ending = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Ends something before a signal ends the process; where nobody else listens for the signal it is then given its way. */
export const onSignals = (end: () => Promise<unknown>): { readonly off: () => void } => {
  const heard = (signal: NodeJS.Signals) => {
    void end().finally(() => {
      off()
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  const off = () => {
    for (const signal of ending) process.off(signal, heard)
  }
  for (const signal of ending) process.on(signal, heard)
  return { off }
}
