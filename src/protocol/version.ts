import { leaf } from './decode.ts'

export const protocolVersion = 1

/** What every process of this version does; only behaviour that is implemented is named. */
export const capabilities = ['structured-errors', 'retryable-errors'] as const

/** Behaviour that was added: a reply names it to those alone who named it. */
export const addedCapabilities = ['progress-events'] as const

/** What a reply lists to a caller that listed these. */
export const capabilitiesFor = (sent: readonly string[]): readonly string[] => [
  ...capabilities,
  ...addedCapabilities.filter(added => sent.includes(added)),
]

/** As it stands on the wire. */
export const versionOnWire = leaf(
  'a positive integer',
  (value): value is number => Number.isSafeInteger(value) && Number(value) > 0,
)

export const stringsOnWire = leaf(
  'a list of strings',
  (value): value is readonly string[] => Array.isArray(value) && value.every(one => typeof one === 'string'),
)
