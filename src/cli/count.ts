import { InvalidArgumentError } from 'commander'

/** Reads a number that is given as an option. */
export const count =
  (what: string, least = 0) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`It must be ${what}: ${least} or more, in digits.`)
  }
