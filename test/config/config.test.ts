import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { decodeConfig } from '../../src/config/decode-config.ts'
import { readConfig } from '../../src/config/find.ts'
import { left, makeWorld, right } from '../launch/world.ts'

const file = '/home/me/project/budgets.json'
const where = { environment: { HOME: '/home/me' } }
const decoded = (budgets: unknown) => decodeConfig(JSON.stringify(budgets), file, where)
const mistakes = (budgets: unknown): readonly string[] => {
  const config = decoded(budgets)
  return E.isLeft(config) ? config.left.map(({ sentence }) => sentence.replace(`${file}: `, '')) : []
}
const config = (budgets: unknown) => {
  const read = decoded(budgets)
  if (E.isLeft(read)) throw new Error(JSON.stringify(read.left))
  return read.right
}
const one = (more: Readonly<Record<string, unknown>>) => ({ instances: { a: { engine: 'claude', ...more } } })

test('an instance of one word has every default', t => {
  const { instances, secret, bodyLimitBytes, stateFolder, warnings } = config(one({}))
  t.deepEqual(instances.get('a'), {
    name: 'a',
    engine: 'claude',
    enabled: true,
    peers: [],
    delegates: true,
    maxDepth: 3,
    port: 0,
    concurrency: 1,
    queueLimit: 256,
    queueTimeoutMs: 600_000,
    maxTurnsPerRoot: 50,
    limits: {},
    cli: undefined,
    args: [],
    cwd: '/home/me/project',
    env: [],
    timeoutMs: 600_000,
    lineLimitBytes: 8 * 1024 * 1024,
  })
  t.is(secret, true)
  t.is(bodyLimitBytes, 1024 * 1024)
  t.regex(stateFolder, /^\/home\/me\/\.local\/state\/errand\/[0-9a-f]{16}$/)
  t.deepEqual(warnings, [])
})

test('the example of the documentation, with all that an instance may say', t => {
  const { instances, total } = config({
    $schema: './node_modules/errand/budgets.schema.json',
    budget: { usd: 5, per: 'day' },
    bus: { bodyLimit: '2MiB', stateDir: '../state', secret: true },
    instances: {
      reviewer: {
        engine: './engines/mine.ts',
        cli: './tools/mine',
        args: ['--fast', ''],
        cwd: '../other',
        model: 'm',
        access: 'read',
        instructions: 'notes.md',
        description: 'reads',
        env: ['HTTP_PROXY'],
        price: { inputPerMTok: 1, outputPerMTok: 2, cachedInputPerMTok: 0 },
        budget: { usd: 0.07, tokens: 10, turns: 0, per: 'month' },
        maxTurnUsd: 0.25,
        maxTurnTokens: 5,
        maxTurnsPerRoot: 2,
        peers: ['*'],
        maxDepth: 0,
        delegates: true,
        enabled: false,
        port: 0,
        timeout: '90s',
        concurrency: 4,
        queue: 0,
        queueTimeout: '0s',
        lineLimit: 1000,
      },
    },
  })
  t.deepEqual(total, { per: 'day', microUsd: 5_000_000 })
  const reviewer = instances.get('reviewer')
  t.deepEqual(reviewer?.cli, ['/home/me/project/tools/mine'])
  t.is(reviewer?.cwd, '/home/me/other')
  t.is(reviewer?.instructionsFile, '/home/me/project/notes.md')
  t.deepEqual(reviewer?.limits, {
    budget: { per: 'month', microUsd: 70_000, tokens: 10, turns: 0 },
    total: { per: 'day', microUsd: 5_000_000 },
    maxTurnMicroUsd: 250_000,
    maxTurnTokens: 5,
  })
  t.is(reviewer?.timeoutMs, 90_000)
  t.is(reviewer?.queueTimeoutMs, 0)
  t.is(reviewer?.queueLimit, 0)
  t.is(reviewer?.lineLimitBytes, 1000)
})

test('all mistakes at once, each with its place, what was expected and what was found', t => {
  t.deepEqual(
    mistakes({
      budgets: {},
      budget: { usd: -1, per: 'week' },
      bus: { bodyLimit: '1 MB' },
      instances: {
        A: { engine: 'claude' },
        operator: { engine: 'claude' },
        'a/b': {},
        good: { engine: 'claude', tiemout: '1m', timeout: 90, peers: 'worker', concurrency: 0, maxDepth: 1.5 },
        command: { engine: 'command' },
        odd: { engine: 'codex', command: ['x'], price: { inputPerMTok: 1 }, env: ['ERRAND_SECRET'] },
      },
    }),
    [
      'budgets: there is no such key. Did you mean "budget"?',
      'budget.usd must be a number of dollars: 0, or 0.000001 or more, not -1.',
      'budget.per must be "total", "day" or "month", not "week".',
      'bus.bodyLimit must be a size such as "8MiB" or "512KiB", or a whole number of bytes, at most "256MiB", not "1 MB".',
      'instances.A must be a name of 1 to 64 small letters, digits, dots, dashes and underscores that begins with a letter or digit, not "A".',
      'instances.operator must be named otherwise: "operator" is whoever holds the bus secret, not "operator".',
      'instances.a/b.engine must be a string that is not empty, not missing.',
      'instances.a/b must be a name of 1 to 64 small letters, digits, dots, dashes and underscores that begins with a letter or digit, not "a/b".',
      'instances.good.tiemout: there is no such key. Did you mean "timeout"?',
      'instances.good.timeout must be a duration in quotes with its unit, such as "90s", "10m" or "1h", at most "24d", not 90.',
      'instances.good.peers must be a list of strings that are not empty, not "worker".',
      'instances.good.concurrency must be a whole number from 1 to 1000, not 0.',
      'instances.good.maxDepth must be a whole number from 0 to 1000, not 1.5.',
      'instances.command.command must be the program that answers, as a list of strings, not missing.',
      'instances.odd.price must be { "inputPerMTok", "outputPerMTok" } with or without the two cache prices, or { "perTurn" } alone, not an object.',
      'instances.odd.env must be a list of names of variables; those that begin with ERRAND_ are not passed through, not a list.',
    ],
  )
})

for (const usd of ['1', '', null, true, [], {}, -0.01, 1e-7, 1e308]) {
  test(`a limit of ${JSON.stringify(usd)} is no limit in dollars`, t => {
    t.is(mistakes(one({ budget: { usd } })).length, 1)
  })
}

test('a limit of 0 is one, and blocks', t => {
  t.deepEqual(config(one({ budget: { usd: 0 } })).instances.get('a')?.limits.budget, { per: 'total', microUsd: 0 })
})

for (const [timeout, ms] of [
  ['500ms', 500],
  ['1.5s', 1500],
  ['2h', 7_200_000],
  ['24d', 2_073_600_000],
  ['25d', undefined],
  ['0s', undefined],
  ['-1s', undefined],
  ['10', undefined],
  ['10 m', undefined],
  ['1e3s', undefined],
  ['', undefined],
] as const) {
  test(`a timeout of ${JSON.stringify(timeout)} is ${ms ?? 'a mistake'}`, t => {
    const read = decoded(one({ timeout }))
    t.is(E.isRight(read) ? read.right.instances.get('a')?.timeoutMs : undefined, ms)
  })
}

test('REG-08: a name never becomes a path or a key of ours', t => {
  for (const name of ['../x', 'a/b', '..', '', ' ', 'a\0b', 'CON', 'a'.repeat(65), '__proto__', 'A', '.a', '-a']) {
    const content = `{"instances":{${JSON.stringify(name)}:{"engine":"claude"}}}`
    t.true(E.isLeft(decodeConfig(content, file, where)), name)
  }
  const { instances } = config({ instances: { constructor: { engine: 'claude' }, b: { engine: 'claude' } } })
  t.deepEqual([...instances.keys()], ['constructor', 'b'])
})

test('two instances cannot have one port', t => {
  const { instances } = { instances: { a: { engine: 'claude', port: 4000 }, b: { engine: 'claude', port: 4000 } } }
  t.deepEqual(mistakes({ instances }), ['instances.b.port must be another port than that of a, not 4000.'])
})

test('no instances, no object, no JSON', t => {
  t.deepEqual(mistakes({}), ['instances must be the instances by name, at least one, not missing.'])
  t.deepEqual(mistakes({ instances: {} }), ['instances must be the instances by name, at least one, not an object.'])
  t.deepEqual(mistakes([]), ['it must be an object, not a list.'])
  const broken = decodeConfig('{\n  "instances": {,\n}', file, where)
  t.is(
    E.isLeft(broken) ? broken.left[0]?.sentence : '',
    `${file}, line 2, column 17: expected a key in double quotes, found ",".`,
  )
})

test('what is unwise is a warning', t => {
  const { warnings } = config({
    budget: { usd: 1 },
    bus: { secret: false, stateDir: 'state' },
    instances: {
      worker: { engine: 'claude', concurrency: 2, peers: ['reviewr', 'operator', '*'] },
      reviewer: { engine: './mine.ts', access: 'write', cli: './bin/cli' },
    },
  })
  t.is(warnings.length, 8, warnings.join('\n'))
  t.true(warnings.some(text => text.startsWith('instances.reviewer may ask others, but has no maxTurnUsd')))
  t.true(warnings.some(text => text.includes('"reviewr"') && text.includes('Did you mean "reviewer"?')))
  t.true(warnings.some(text => text.includes('no maxTurnUsd')))
  t.true(warnings.some(text => text.includes('bus.secret is false')))
  for (const what of ['budgets.json lies', 'the engine of reviewer', 'the program of reviewer']) {
    t.true(
      warnings.some(text => text.includes(what)),
      what,
    )
  }
})

test('the file is the one told, else that of ERRAND_CONFIG, else the next one upward; its real path is its identity', async t => {
  const world = await makeWorld(t)
  const content = JSON.stringify(one({}))
  await world.write('up/budgets.json', content)
  await world.write('told.json', content)
  await mkdir(path.join(world.folder, 'up', 'a', 'b'), { recursive: true })
  await symlink(path.join(world.folder, 'told.json'), path.join(world.folder, 'link.json'))
  const there = { ...world.where, folder: path.join(world.folder, 'up', 'a', 'b') }

  const upward = await right(readConfig(undefined, there))
  t.is(upward.file, path.join(world.folder, 'up', 'budgets.json'))
  const environment = { ...world.where.environment, ERRAND_CONFIG: path.join(world.folder, 'told.json') }
  const told = await right(readConfig(undefined, { ...there, environment }))
  t.is(told.file, path.join(world.folder, 'told.json'))
  const linked = await right(
    readConfig('../../../link.json', { ...there, environment: { ...environment, ERRAND_CONFIG: 'no' } }),
  )
  t.is(linked.file, told.file)
  t.is(linked.stateFolder, told.stateFolder)
  t.not(upward.stateFolder, told.stateFolder)
})

test('a file that is not there, or is a folder, is a sentence', async t => {
  const world = await makeWorld(t)
  const sentences = async (flag: string | undefined) =>
    (await left(readConfig(flag, world.where))).map(one => one.sentence)
  t.regex((await sentences('no.json'))[0] ?? '', /no\.json cannot be read \(there is no such file\)/)
  t.regex((await sentences('.'))[0] ?? '', /it is a folder/)
  t.regex((await sentences(undefined))[0] ?? '', /There is no budgets\.json in .* or above it/)
})
