import type * as t from 'io-ts/lib/index.js'
import type { Access } from '../engine/engine.ts'
import { leaf } from '../protocol/decode.ts'
import { maxTurnMicroUsd, usdFrom } from '../protocol/money.ts'
import { durationMs, sizeBytes } from './quantity.ts'
import { strict } from './strict.ts'

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)
const isNumber = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && value >= least && value <= most

const whole = (expected: string, least: number, most: number) =>
  leaf(expected, (value): value is number => Number.isInteger(value) && isNumber(value, least, most))

const mostUsd = 1_000_000_000

export const flag = leaf('true or false', (value): value is boolean => typeof value === 'boolean')
export const text = leaf('a string that is not empty', isText)
export const texts = leaf('a list of strings that are not empty', isTexts)
export const words = leaf(
  'a list of strings',
  (value): value is readonly string[] =>
    Array.isArray(value) && value.every(word => typeof word === 'string' && !word.includes('\0')),
)
export const program = leaf(
  'a path, or a command as a list of strings',
  (value): value is string | readonly string[] => isText(value) || isProgram(value),
)
export const command = leaf('a program and its arguments, as a list of strings', (value): value is readonly string[] =>
  isProgram(value),
)
export const usd = leaf('a number of dollars, 0 or more', (value): value is number => isNumber(value, 0, mostUsd))
export const someUsd = leaf('a number of dollars above 0', (value): value is number =>
  isNumber(value, 0.000001, mostUsd),
)
/** What is below a micro-dollar would be 0, and refuse every turn. */
export const usdLimit = leaf(
  'a number of dollars: 0, or 0.000001 or more',
  (value): value is number => value === 0 || someUsd.is(value),
)
export const usdPerTurn = leaf('a number of dollars from 0 to 10000', (value): value is number =>
  isNumber(value, 0, usdFrom(maxTurnMicroUsd)),
)
export const count = whole('a whole number, 0 or more', 0, Number.MAX_SAFE_INTEGER)
export const someCount = whole('a whole number, 1 or more', 1, Number.MAX_SAFE_INTEGER)
export const depth = whole('a whole number from 0 to 1000', 0, 1000)
export const port = whole('a port from 0 to 65535 (0 is any)', 0, 65_535)
export const atOnce = whole('a whole number from 1 to 1000', 1, 1000)
export const waiting = whole('a whole number from 0 to 100000', 0, 100_000)
export const duration = leaf(
  'a duration in quotes with its unit, such as "90s", "10m" or "1h", at most "24d"',
  (value): value is string => typeof value === 'string' && durationMs(value) !== undefined,
)
export const someDuration = leaf(
  duration.name,
  (value): value is string => typeof value === 'string' && (durationMs(value) ?? 0) > 0,
)
export const size = leaf(
  'a size such as "8MiB" or "512KiB", or a whole number of bytes, at most "256MiB"',
  (value): value is string | number => sizeBytes(value) !== undefined,
)
export const access = leaf(
  '"read", "write" or "full"',
  (value): value is Access => value === 'read' || value === 'write' || value === 'full',
)
export const per = leaf(
  '"total", "day" or "month"',
  (value): value is 'total' | 'day' | 'month' => value === 'total' || value === 'day' || value === 'month',
)
export const variables = leaf(
  'a list of names of variables; those that begin with ERRAND_ are not passed through',
  (value): value is readonly string[] =>
    isTexts(value) && value.every(name => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith('ERRAND_')),
)

export const budget = strict({ usd: usdLimit, tokens: count, turns: count, per }, [])

export const price = strict(
  { inputPerMTok: usd, outputPerMTok: usd, cachedInputPerMTok: usd, cacheWritePerMTok: usd, perTurn: usdPerTurn },
  [],
  (value, at) => {
    const perTurn = value.perTurn !== undefined
    const complete = value.inputPerMTok !== undefined && value.outputPerMTok !== undefined
    const sound = perTurn ? Object.keys(value).length === 1 : complete
    return sound ? [] : [{ value, context: at('').slice(0, -1), message: priceExpected }]
  },
)

const priceExpected = '{ "inputPerMTok", "outputPerMTok" } with or without the two cache prices, or { "perTurn" } alone'

function isProgram(value: unknown): value is readonly string[] {
  return Array.isArray(value) && isText(value[0]) && words.is(value)
}

export type BudgetText = t.TypeOf<typeof budget>
export type PriceText = t.TypeOf<typeof price>
