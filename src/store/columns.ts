import { leaf } from '../protocol/decode.ts'

// The columns that rows are read with. A damaged one must not become money: NaN, text or a negative count are refused.

export const textColumn = leaf('text', (value): value is string => typeof value === 'string')

export const countColumn = leaf(
  'a non-negative integer',
  (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
)

export const integerColumn = leaf('an integer', (value): value is number => Number.isSafeInteger(value))
