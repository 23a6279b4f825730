import type { Bus } from '../launch/script.ts'
import { type Site, siteOf } from '../launch/site.ts'

/** Throws for what `launch` did not give. */
export const siteOfBus = (bus: Bus): Site => {
  const site = siteOf(bus)
  if (site === undefined) throw new TypeError('The first argument must be the bus that launch() gave.')
  return site
}
