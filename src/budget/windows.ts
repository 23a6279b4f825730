import type { Per } from './budget.ts'

/** The names of the windows that a moment lies in; money is counted in all three, whatever a budget's `per` says today. */
export type Windows = Readonly<Record<Per, string>>

/** In the machine's time zone: a day begins at its midnight, however long the clock makes it. */
export const windowsOf = (atMs: number): Windows => {
  const at = new Date(atMs)
  const month = `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}`
  return { total: 'total', month, day: `${month}-${twoDigits(at.getDate())}` }
}

const twoDigits = (count: number): string => String(count).padStart(2, '0')
