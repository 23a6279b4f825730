import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test from 'ava'

const run = promisify(execFile)
const checkout = fileURLToPath(new URL('../..', import.meta.url))

/** A project that installed the packed tarball. No registry is asked: the dependencies are those of the checkout. */
const install = async (): Promise<string> => {
  const project = await realpath(await mkdtemp(path.join(tmpdir(), 'errand-package-')))
  const modules = path.join(project, 'node_modules')
  await mkdir(path.join(modules, '.bin'), { recursive: true })
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project], {
    cwd: checkout,
    env: environment(project),
    maxBuffer: 64 * 1024 * 1024,
  })
  const filename: string = JSON.parse(stdout)[0].filename
  await run('tar', ['-xzf', path.join(project, filename), '-C', modules])
  await run('mv', [path.join(modules, 'package'), path.join(modules, 'errand')])
  for (const name of await readdir(path.join(checkout, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(path.join(checkout, 'node_modules', name), path.join(modules, name))
  }
  await symlink('../errand/bin/errand.js', path.join(modules, '.bin', 'errand'))
  await symlink('../tsx/dist/cli.mjs', path.join(modules, '.bin', 'tsx'))
  await writeFile(path.join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await writeFile(path.join(project, 'budgets.json'), JSON.stringify(budgets, null, 2))
  return project
}

/** The state is the project's own, and `node` is the one that runs the tests. */
const environment = (project: string) => {
  const { ERRAND_TURN: _turn, ERRAND_TOKEN: _token, ERRAND_CONFIG: _config, ...own } = process.env
  return {
    ...own,
    XDG_STATE_HOME: path.join(project, 'elsewhere'),
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${own['PATH']}`,
    NO_UPDATE_NOTIFIER: '1',
    npm_config_offline: 'true',
  }
}

const budgets = {
  instances: {
    reviewer: {
      engine: 'command',
      command: ['sh', '-c', 'printf "reviewed: "; errand talk worker "$(cat)"'],
      cwd: 'work',
    },
    worker: {
      engine: 'command',
      command: ['sh', '-c', 'echo "{\\"usd\\":0.01}" >> "$ERRAND_REPORT"; tr a-z A-Z'],
      peers: ['reviewer'],
      budget: { usd: 1 },
      cwd: 'work',
    },
  },
}

const script = `import { launch } from 'errand'
const bus = await launch('budgets.json')
const reply = await bus.talk('reviewer', 'this answer')
console.log(reply.success ? reply.text.trim() : \`\${reply.errorCode}: \${reply.error}\`)
await bus.stop()
`

const typed = script.replace('const bus =', "const bus: import('errand').Bus =")

test.serial('a project that installed the tarball: npx tsx on .ts, plain Node on .js, and the command', async t => {
  const project = await install()
  t.teardown(() => rm(project, { recursive: true, force: true, maxRetries: 5 }))
  await mkdir(path.join(project, 'work'))
  await writeFile(path.join(project, 'script.ts'), typed)
  await writeFile(path.join(project, 'script.js'), script)
  const options = { cwd: project, env: environment(project) }

  for (const [file, ...args] of [
    ['npx', 'tsx', 'script.ts'],
    [process.execPath, 'script.js'],
    ['npx', 'errand', 'talk', 'reviewer', 'this answer'],
  ] as const) {
    const running = run(file, args, options)
    running.child.stdin?.end()
    const { stdout, stderr } = await running
    t.is(stdout.trim(), 'reviewed: THIS ANSWER', `${file} ${args.join(' ')}`)
    t.is(stderr.trim(), '', `${file} ${args.join(' ')}`)
  }

  const { stdout } = await run(
    path.join(project, 'node_modules', '.bin', 'errand'),
    ['budget', 'worker', '--json'],
    options,
  )
  t.like(JSON.parse(stdout)[0], { instance: 'worker', spentUsd: 0.03, turns: 3 })
  t.deepEqual(
    (await readdir(path.join(project, 'node_modules', 'errand'))).filter(name => name === 'src'),
    [],
  )
})

test.serial(
  'in this checkout the package finds itself: npx tsx on .ts, and plain Node on what is compiled',
  async t => {
    const project = await realpath(await mkdtemp(path.join(tmpdir(), 'errand-checkout-')))
    t.teardown(() => rm(project, { recursive: true, force: true, maxRetries: 5 }))
    await mkdir(path.join(project, 'work'))
    const file = path.join(project, 'budgets.json')
    await writeFile(file, JSON.stringify(budgets))
    const options = { cwd: checkout, env: environment(project) }
    const here = typed.replace("'budgets.json'", JSON.stringify(file))

    const { stdout: compiled } = await run(
      process.execPath,
      ['--input-type=module', '-e', here.replace(": import('errand').Bus", '')],
      options,
    )
    t.is(compiled.trim(), 'reviewed: THIS ANSWER')

    const { stdout, stderr } = await run('npx', ['tsx', 'examples/one-question.ts'], options)
    t.is(stderr.trim(), '')
    t.regex(stdout, /\S/)
  },
)

test.serial('a strict project can read every type that the package ships', async t => {
  const project = await install()
  t.teardown(() => rm(project, { recursive: true, force: true, maxRetries: 5 }))
  await writeFile(path.join(project, 'script.ts'), typed)
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--lib',
    'es2024',
    '--types',
    'node',
  ]
  const tsc = path.join(checkout, 'node_modules', '.bin', 'tsc')
  const checked = run(tsc, [...flags, '--skipLibCheck', 'false', 'script.ts'], {
    cwd: project,
    env: environment(project),
  })
  await t.notThrowsAsync(checked.catch(({ stdout }: { stdout: string }) => Promise.reject(new Error(stdout))))
})
