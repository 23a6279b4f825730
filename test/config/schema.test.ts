import fs from 'node:fs'
import { Ajv } from 'ajv'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { decodeBudgets } from '../../src/config/decode-config.ts'

const root = new URL('../../', import.meta.url)
const read = (name: string) => JSON.parse(fs.readFileSync(new URL(name, root), 'utf8'))

// What a schema cannot tell (times that add up to too much, two instances on one port) stands in `beyondSchema`.
const schema = read('budgets.schema.json')
const bySchema = new Ajv({ strict: true, strictTypes: false, strictTuples: false, strictRequired: false }).compile(
  schema,
)
const byCodec = (file: unknown): boolean => E.isRight(decodeBudgets(file, 'the file'))

const withA = (a: object, more: object = {}) => ({ ...more, instances: { a: { engine: 'claude', ...a } } })

/** `good` and `bad` values of one key of an instance. */
const keysOfInstance: Readonly<
  Record<string, { readonly good: readonly unknown[]; readonly bad: readonly unknown[] }>
> = {
  engine: { good: ['claude', 'command-line', './my-engine.ts'], bad: ['', ' ', '\0', 1, null, ['claude']] },
  command: { good: [['cat'], ['sh', '-c', ''], ['a', ' ']], bad: [[], [''], 'cat', ['a', 1], ['a', 'b\0'], null] },
  cli: { good: ['/opt/claude', ['npx', 'claude'], ['x', '']], bad: ['', [], [' '], 3, {}] },
  args: { good: [[], ['--flag', ''], ['x']], bad: ['--flag', [1], ['\0'], null] },
  cwd: { good: ['.', '../x'], bad: ['', 1, []] },
  model: { good: ['gpt-5'], bad: ['', 5, null] },
  access: { good: ['read', 'write', 'full'], bad: ['Read', 'none', true, null] },
  instructions: { good: ['me.md'], bad: ['', ['me.md']] },
  description: { good: ['reads files'], bad: ['  ', 1] },
  env: {
    good: [[], ['MY_KEY', '_x', 'lower1']],
    bad: ['MY_KEY', ['ERRAND_SECRET'], ['A-B'], ['1A'], ['A*'], [''], [1]],
  },
  price: {
    good: [
      { inputPerMTok: 1, outputPerMTok: 2.5 },
      { inputPerMTok: 0, outputPerMTok: 0, cachedInputPerMTok: 0.1, cacheWritePerMTok: 3 },
      { perTurn: 0 },
      { perTurn: 10000 },
    ],
    bad: [
      {},
      { inputPerMTok: 1 },
      { perTurn: 1, inputPerMTok: 1, outputPerMTok: 1 },
      { perTurn: -1 },
      { perTurn: 10001 },
      { perTurn: '1' },
      { inputPerMTok: 1, outputPerMTok: 2, perMTok: 1 },
      3,
      null,
      [],
    ],
  },
  budget: {
    good: [{}, { usd: 0 }, { usd: 1.5, tokens: 10, turns: 3, per: 'day' }, { per: 'month' }],
    bad: [
      { usd: -1 },
      { usd: '1' },
      { usd: 1e10 },
      { usd: 1e-7 },
      { tokens: 1.5 },
      { tokens: -1 },
      { turns: '3' },
      { per: 'week' },
      { dollars: 1 },
      5,
      null,
      [],
    ],
  },
  maxTurnUsd: { good: [0.000001, 1, 1e9], bad: [0, -1, 1e-9, 1e10, '1', null] },
  maxTurnTokens: { good: [1, 100000], bad: [0, 1.5, -1, '1', 1e17] },
  maxTurnsPerRoot: { good: [1, 50], bad: [0, 1.5, '50'] },
  peers: { good: [[], ['*'], ['b', 'operator']], bad: ['b', [''], [1], null] },
  maxDepth: { good: [0, 3, 1000], bad: [-1, 1001, 1.5, '3'] },
  delegates: { good: [true, false], bad: ['yes', 1, null] },
  enabled: { good: [true, false], bad: ['true', 0] },
  port: { good: [0, 8080, 65535], bad: [-1, 65536, 80.5, '80'] },
  timeout: {
    good: ['90s', '10m', '1h', '500ms', '2d', '1.5h', '0.001s'],
    bad: ['10', 10, '0s', '0.0m', '10 m', '10min', '-1s', '', '1.2345s', '1234567890s'],
  },
  idleTimeout: { good: ['90s', '10m'], bad: [10, '0s', 'never', null] },
  concurrency: { good: [1, 1000], bad: [0, 1001, 1.5, '1'] },
  queue: { good: [0, 256, 100000], bad: [-1, 100001, '5'] },
  queueTimeout: { good: ['0s', '10m'], bad: [0, 'soon'] },
  lineLimit: {
    good: [1, 1024, '8MiB', '512KiB', '10B', '010B', 268435456],
    bad: [0, -1, 1.5, '8MB', '8 MiB', '0MiB', 268435457, null],
  },
}

const whole: Readonly<Record<string, { readonly good: readonly unknown[]; readonly bad: readonly unknown[] }>> = {
  shapes: {
    good: [
      withA({}),
      withA({}, { $schema: './node_modules/errand/budgets.schema.json' }),
      withA({}, { budget: { usd: 5, per: 'day' } }),
      withA({}, { bus: { bodyLimit: '2MiB', stateDir: '../state', secret: false } }),
      withA({}, { bus: {} }),
    ],
    bad: [
      {},
      [],
      null,
      'x',
      { instances: {} },
      { instances: [] },
      { instances: null },
      { instances: { a: {} } },
      { instances: { a: null } },
      { instances: { a: 'claude' } },
      withA({ unknownKey: 1 }),
      withA({ Engine: 'claude' }),
      withA({}, { unknownKey: 1 }),
      withA({}, { $schema: 1 }),
      withA({}, { budget: 5 }),
      withA({}, { bus: { bodyLimit: '2MB' } }),
      withA({}, { bus: { stateDir: '' } }),
      withA({}, { bus: { secret: 'no' } }),
      withA({}, { bus: { port: 1 } }),
      withA({}, { bus: true }),
    ],
  },
  'the command engine': {
    good: [withA({ engine: 'command', command: ['cat'] }), withA({ command: ['cat'], cli: 'claude' })],
    bad: [withA({ engine: 'command' }), withA({ engine: 'command', command: ['cat'], cli: 'cat' })],
  },
  names: {
    good: ['a', '9', 'a.b_c-d', 'x'.repeat(64)].map(name => ({ instances: { [name]: { engine: 'claude' } } })),
    bad: ['operator', 'A', '-a', '.a', 'a b', '', 'ä', '*', 'x'.repeat(65)].map(name => ({
      instances: { [name]: { engine: 'claude' } },
    })),
  },
}

const beyondSchema = [
  withA({ timeout: '25d' }),
  withA({ timeout: '0.001ms' }),
  withA({ lineLimit: '257MiB' }),
  { instances: { a: { engine: 'claude', port: 8080 }, b: { engine: 'claude', port: 8080 } } },
]

const told = (file: unknown): string => `${JSON.stringify(file)?.slice(0, 200)} ${JSON.stringify(bySchema.errors?.[0])}`

for (const [key, { good, bad }] of Object.entries(keysOfInstance)) {
  // The command engine needs a command, and has no "cli"; of no other engine is that so.
  const file = (value: unknown) => withA({ [key]: value })
  test(`schema and codec agree on instances.*.${key}`, t => {
    for (const value of good) {
      t.true(byCodec(file(value)), `codec: ${JSON.stringify(value)}`)
      t.true(bySchema(file(value)), told(file(value)))
    }
    for (const value of bad) {
      t.false(byCodec(file(value)), `codec: ${JSON.stringify(value)}`)
      t.false(bySchema(file(value)), told(file(value)))
    }
  })
}

for (const [what, { good, bad }] of Object.entries(whole)) {
  test(`schema and codec agree on ${what}`, t => {
    for (const file of good) {
      t.true(byCodec(file), `codec: ${JSON.stringify(file)}`)
      t.true(bySchema(file), told(file))
    }
    for (const file of bad) {
      t.false(byCodec(file), `codec: ${JSON.stringify(file)}`)
      t.false(bySchema(file), told(file))
    }
  })
}

test('what only the codec can tell, the schema lets pass', t => {
  for (const file of beyondSchema) {
    t.false(byCodec(file), JSON.stringify(file))
    t.true(bySchema(file), told(file))
  }
})

/** The keys that the codec knows at the place where this file has an unknown one. */
const known = (file: unknown): readonly string[] => {
  const decoded = decodeBudgets(file, 'the file')
  const sentences = E.isLeft(decoded) ? decoded.left.map(({ sentence }) => sentence).join('\n') : ''
  return (/Known here: (.*)\./.exec(sentences)?.[1] ?? '').split(', ').toSorted()
}

test('the schema has the keys of the codec, each with a description', t => {
  const wrong = { zzzzzzzz: 1 }
  const { properties, definitions } = schema
  const places = [
    [properties, { ...wrong, ...withA({}) }],
    [definitions.instance.properties, withA(wrong)],
    [definitions.budget.properties, withA({ budget: wrong })],
    [definitions.price.properties, withA({ price: wrong })],
    [definitions.bus.properties, withA({}, { bus: wrong })],
  ] as const
  for (const [described, file] of places) {
    t.deepEqual(Object.keys(described).toSorted(), known(file))
    for (const [key, { description }] of Object.entries<{ description?: unknown }>(described)) {
      t.true(typeof description === 'string' && description.length > 5, key)
    }
  }
  t.deepEqual(Object.keys(definitions.instance.properties).toSorted(), Object.keys(keysOfInstance).toSorted())
})

test('the files that people see are sound by the schema, and name it', t => {
  t.true(bySchema(read('budgets.json')), told('budgets.json'))
  t.is(read('budgets.json').$schema, './budgets.schema.json')
  t.true(read('package.json').files.includes('budgets.schema.json'))
  const docs = ['README.md', 'docs/budgets.md', 'docs/engines.md'].map(name =>
    fs.readFileSync(new URL(name, root), 'utf8'),
  )
  const blocks = docs.flatMap(text => [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = '']) => block))
  const files = blocks.filter(block => block.includes('"instances"'))
  t.true(files.length > 0)
  for (const file of files) t.true(bySchema(JSON.parse(file)), told(file))
})
