import type { JsonView } from './json-view.ts'

/**
 * What an API's error body says, in one line; `''` where a record is none. Some CLIs print it as it came, alone or inside a
 * sentence, instead of a record of their own.
 */
export const bareErrorIn = (record: JsonView): string => {
  const error = record.at('error')
  const [message, kind] = [error.text() || error.text('message'), error.text('code') || error.text('type')]
  return [message, kind === '' ? '' : `(${kind})`]
    .filter(part => part !== '')
    .join(' ')
    .slice(0, longest)
}

const longest = 1000
