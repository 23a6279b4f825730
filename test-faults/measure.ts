import { readdirSync, readFileSync } from 'node:fs'

export const openDescriptors = (pid: number | 'self' = 'self'): number => readdirSync(`/proc/${pid}/fd`).length

/** Resident memory, in MiB. */
export const memoryMiB = (pid: number | 'self' = 'self'): number => {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) / 1024
}

/** What this process holds in objects once the garbage is gone, in MiB; needs `--expose-gc`. */
export const heapMiB = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1024 / 1024
}

/** The value that this part of them, from 0 to 1, does not exceed. */
export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.ceil(values.length * part) - 1)] ??
  Number.NaN

/** Waits for what becomes true, for at most so long. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> => {
  const begun = performance.now()
  while (!(await holds())) {
    if (performance.now() - begun > limitMs) throw new Error(`It never came true: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
