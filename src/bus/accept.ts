import type { RequestHead } from './guards.ts'

const events = 'text/event-stream'
const json = 'application/json'

/** Whether a caller wants the progress of its talk as events: it names them, and wants nothing more than them. */
export const wantsEvents = ({ headers }: RequestHead): boolean => {
  const ranges = (headers['accept'] ?? []).flatMap(value => value.split(',')).map(rangeOf)
  const weight = (...medias: readonly string[]): number => {
    for (const media of medias) {
      const found = ranges.find(range => range.media === media)
      if (found !== undefined) return found.weight
    }
    return 0
  }
  const wanted = weight(events)
  return wanted > 0 && wanted >= weight(json, 'application/*', '*/*')
}

const rangeOf = (range: string): { readonly media: string; readonly weight: number } => {
  const [media = '', ...parameters] = range
    .toLowerCase()
    .split(';')
    .map(part => part.trim())
  const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice('q='.length)
  if (weight === undefined) return { media, weight: 1 }
  return { media, weight: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 }
}
