import * as t from 'io-ts/lib/index.js'
import { operator } from '../bus/identity.ts'
import * as m from './members.ts'
import { isObject, leftOf, strict } from './strict.ts'

/** One instance, as budgets.json may have it. */
const instance = strict(
  {
    engine: m.text,
    command: m.command,
    cli: m.program,
    args: m.words,
    cwd: m.text,
    model: m.text,
    access: m.access,
    instructions: m.text,
    description: m.text,
    env: m.variables,
    price: m.price,
    budget: m.budget,
    maxTurnUsd: m.someUsd,
    maxTurnTokens: m.someCount,
    maxTurnsPerRoot: m.someCount,
    peers: m.texts,
    maxDepth: m.depth,
    delegates: m.flag,
    enabled: m.flag,
    port: m.port,
    timeout: m.someDuration,
    idleTimeout: m.someDuration,
    concurrency: m.atOnce,
    queue: m.waiting,
    queueTimeout: m.duration,
    lineLimit: m.size,
  },
  ['engine'],
  (value, at) => {
    const wrong = (key: string, found: unknown, message: string) => [{ value: found, context: at(key), message }]
    const isCommand = value.engine === 'command'
    if (isCommand && value.command === undefined) {
      return wrong('command', undefined, 'the program that answers, as a list of strings')
    }
    if (isCommand && value.cli !== undefined)
      return wrong('cli', value.cli, 'left out where "command" says what to run')
    // A `command` beside another engine is kept, unused: so switching between them is one word.
    return []
  },
)

export type InstanceText = t.TypeOf<typeof instance>

const isName = (name: string): boolean => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) && name !== operator
const nameExpected =
  'a name of 1 to 64 small letters, digits, dots, dashes and underscores that begins with a letter or digit'

type Instances = ReadonlyMap<string, InstanceText>

/** The instances by name: every one is looked at, whatever is wrong with the others. */
const instances = new t.Type<Instances, Instances, unknown>(
  'the instances by name, at least one',
  (value): value is Instances => value instanceof Map,
  (value, context) => {
    if (!isObject(value) || Object.keys(value).length === 0) return t.failure(value, context)
    const decoded = new Map<string, InstanceText>()
    const errors: t.Errors = clashingPorts(value, context)
    for (const [name, member] of Object.entries(value)) {
      const at = [...context, { key: name, type: instance, actual: member }]
      const told = instance.validate(member, at)
      errors.push(...leftOf(told))
      if (!isName(name)) errors.push({ value: name, context: at, message: nameMistake(name) })
      if (told._tag === 'Right') decoded.set(name, told.right)
    }
    return errors.length > 0 ? t.failures(errors) : t.success(decoded)
  },
  map => map,
)

const nameMistake = (name: string): string =>
  name === operator ? 'named otherwise: "operator" is whoever holds the bus secret' : nameExpected

const clashingPorts = (value: Readonly<Record<string, unknown>>, context: t.Context): t.Errors => {
  const owners = new Map<number, string>()
  const errors: t.Errors = []
  for (const [name, member] of Object.entries(value)) {
    const port = isObject(member) ? member['port'] : undefined
    if (!m.port.is(port) || port === 0) continue
    const first = owners.get(port)
    if (first === undefined) owners.set(port, name)
    else {
      const at = [...context, { key: name, type: instance }, { key: 'port', type: m.port }]
      errors.push({ value: port, context: at, message: `another port than that of ${first}` })
    }
  }
  return errors
}

const bus = strict({ bodyLimit: m.size, stateDir: m.text, secret: m.flag }, [])

/** The whole of budgets.json. */
export const budgetsFile = strict({ $schema: m.text, budget: m.budget, bus, instances }, ['instances'])

export type BudgetsText = t.TypeOf<typeof budgetsFile>
