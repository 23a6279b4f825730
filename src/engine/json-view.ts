import type { Json } from '../protocol/decode.ts'

/** A JSON value, and ways into it that never fail: of what is missing, or is of another type, there is nothing. */
export interface JsonView {
  readonly json: Json | undefined
  readonly at: (...path: readonly string[]) => JsonView
  /** `''` where there is no text. */
  readonly text: (...path: readonly string[]) => string
  /** True only where it is `true`. */
  readonly flag: (...path: readonly string[]) => boolean
  /** What is left out (or null) is 0; what is no number is NaN, for the core to refuse. */
  readonly count: (...path: readonly string[]) => number
  readonly number: (...path: readonly string[]) => number | undefined
  readonly list: (...path: readonly string[]) => readonly JsonView[]
  readonly entries: (...path: readonly string[]) => readonly (readonly [string, JsonView])[]
}

export const viewOf = (json: Json | undefined): JsonView => new View(json)

class View implements JsonView {
  readonly json: Json | undefined

  constructor(json: Json | undefined) {
    this.json = json
  }

  at(...path: readonly string[]): JsonView {
    return new View(valueAt(this.json, path))
  }

  text(...path: readonly string[]): string {
    const value = valueAt(this.json, path)
    return typeof value === 'string' ? value : ''
  }

  flag(...path: readonly string[]): boolean {
    return valueAt(this.json, path) === true
  }

  count(...path: readonly string[]): number {
    const value = valueAt(this.json, path) ?? 0
    return typeof value === 'number' ? value : Number.NaN
  }

  number(...path: readonly string[]): number | undefined {
    const value = valueAt(this.json, path)
    return typeof value === 'number' ? value : undefined
  }

  list(...path: readonly string[]): readonly JsonView[] {
    const value = valueAt(this.json, path)
    return Array.isArray(value) ? value.map(viewOf) : []
  }

  entries(...path: readonly string[]): readonly (readonly [string, JsonView])[] {
    const value = valueAt(this.json, path)
    return isObject(value) ? Object.entries(value).map(([key, one]) => [key, viewOf(one)]) : []
  }
}

const valueAt = (json: Json | undefined, path: readonly string[]): Json | undefined => {
  let value = json
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

const isObject = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
