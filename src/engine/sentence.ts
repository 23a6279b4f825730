import { type Failure, failure } from '../protocol/failure.ts'

/** Takes the values of secrets out of whatever a program said. */
export type Scrub = (text: string) => string

/** Of these variables, those that look like keys. */
export const scrubOf = (environment: Readonly<Record<string, string>>): Scrub => {
  const secrets = Object.entries(environment)
    .filter(
      ([name, value]) => /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i.test(name) && value.length >= shortestSecret,
    )
    .map(([, value]) => value)
    .sort((a, b) => b.length - a.length)
  return text => secrets.reduce((scrubbed, secret) => scrubbed.replaceAll(secret, '[key]'), text)
}

/** The same failure without secrets. */
export const scrubbed = ({ code, sentence, retryAfterMs }: Failure, scrub: Scrub): Failure =>
  failure(code, withoutQueries(scrub(sentence.slice(0, longestSentence))), retryAfterMs)

// What stands behind the `?` of an address may let its reader in.
const withoutQueries = (text: string): string =>
  text.replace(/https?:\/\/\S+/gi, address => address.replace(/[?#].*$/s, '?…'))

/** `10 min`, `2 s`, `250 ms`. */
export const sayDuration = (ms: number): string => {
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1000 ? `${Number((ms / 1000).toFixed(1))} s` : `${Math.round(ms)} ms`
}

/** `8 MiB`. */
export const sayBytes = (bytes: number): string => {
  if (bytes >= 1024 * 1024) return `${Number((bytes / 1024 / 1024).toFixed(1))} MiB`
  return bytes >= 1024 ? `${Number((bytes / 1024).toFixed(1))} KiB` : `${bytes} bytes`
}

// Shorter values are words, and their removal would only garble.
const shortestSecret = 8
const longestSentence = 64 * 1024
