import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { chainAt } from '../../src/work/chain.ts'
import { fanAt } from '../../src/work/fan.ts'
import { verifyAt } from '../../src/work/verify.ts'
import { makeWorld, until, type World } from '../launch/world.ts'
import { answers, openDesk } from './desk.ts'

const callsOf = ({ folder }: World, name: string): number => {
  const file = path.join(folder, `${name}.calls`)
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
}

test('a chain that broke goes on behind its last answer, and one that has ended asks nobody', async t => {
  const { site, world } = await openDesk(t, {
    a: answers('a', 'pay(0.01); return prompt + " a"'),
    b: answers('b', 'if (!fs.existsSync("go")) process.exit(3); pay(0.02); return prompt + " b"'),
  })
  const run = () => chainAt(site, { steps: [{ to: 'a', prompt: 'x' }, { to: 'b' }], workflow: 'nightly' })()
  const broken = await run()
  t.is(broken.failure?.errorCode, 'engine_cli')
  await world.write('go', '')
  const whole = await run()
  t.like(whole, { success: true, text: 'x a b', root: broken.root, costUsd: 0.03 })
  const again = await run()
  t.like(again, { success: true, text: 'x a b', costUsd: 0.03 })
  t.deepEqual([callsOf(world, 'a'), callsOf(world, 'b')], [1, 2])
  const kept: boolean[] = []
  await chainAt(site, {
    steps: [{ to: 'a', prompt: 'x' }, { to: 'b' }],
    workflow: 'nightly',
    fresh: true,
    onStep: step => kept.push(step.kind === 'answered' && step.kept),
  })()
  t.deepEqual(kept, [false, false, false, false])
  t.deepEqual([callsOf(world, 'a'), callsOf(world, 'b')], [2, 3])
})

test('a record that does not fit is workflow_state, in every step that was to be asked', async t => {
  const { site, world } = await openDesk(t, { a: answers('a', 'return prompt') })
  const branch = { to: 'a', prompt: 'x' }
  t.true((await fanAt(site, [branch], { workflow: 'w' })()).success)
  const fanned = await fanAt(site, [branch, branch], { workflow: 'w' })()
  t.deepEqual(
    fanned.branches.map(({ envelope }) => !envelope.success && envelope.errorCode),
    ['workflow_state', 'workflow_state'],
  )
  t.is(fanned.failure?.errorCode, 'workflow_state')
  const chained = await chainAt(site, { steps: [branch], workflow: 'w' })()
  t.is(chained.failure?.errorCode, 'workflow_state')
  t.is(chained.steps.length, 1)
  const verified = await verifyAt(site, { prompt: 'x', by: 'a', judge: 'a', workflow: 'w' })()
  t.is(verified.failure?.errorCode, 'workflow_state')
  // A function may make something else of the same answer than it did before.
  const steps = (word: string) => [branch, { to: 'a', prompt: (previous: string) => previous + word }]
  t.true((await chainAt(site, { steps: steps('1'), workflow: 'made' })()).success)
  const other = await chainAt(site, { steps: steps('2'), workflow: 'made' })()
  t.like(other, { success: false })
  t.regex(other.failure?.error ?? '', /step 2 asks something else than before/)
  t.is(callsOf(world, 'a'), 3)
})

test('a verify goes on where it was interrupted, and may then go round more often', async t => {
  const { site, world } = await openDesk(t, {
    worker: answers('worker', 'return "draft"'),
    judge: answers(
      'judge',
      `return JSON.stringify({ verdict: fs.existsSync('go') ? 'pass' : 'fail', reason: 'too short' })`,
    ),
  })
  const run = (atMost: number) => verifyAt(site, { prompt: 'x', by: 'worker', judge: 'judge', atMost, workflow: 'w' })()
  t.false((await run(1)).passed)
  await world.write('go', '')
  const verified = await run(2)
  t.true(verified.passed)
  t.deepEqual(
    verified.verdicts.map(({ verdict }) => verdict),
    ['fail', 'pass'],
  )
  t.deepEqual([callsOf(world, 'worker'), callsOf(world, 'judge')], [2, 2])
})

const door = new URL('../../src/index.ts', import.meta.url).href

const start = async (t: ExecutionContext, world: World, name: string, body: string): Promise<ChildProcess> => {
  const file = await world.write(name, `import { launch, fan } from ${JSON.stringify(door)}\n${body}\n`)
  const child = spawn(process.execPath, [file], {
    cwd: world.folder,
    env: world.where.environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

const waits = `while (!fs.existsSync('go')) await new Promise(resolve => setTimeout(resolve, 20))`
const instances = {
  a: answers('a', 'return prompt + " a"'),
  b: answers('b', `${waits}; return prompt + " b"`),
  c: answers('c', 'return prompt + " c"'),
}
const fanning = `const bus = await launch('budgets.json')
  const fanned = await fan(bus, { prompt: 'x', to: ['a', 'b', 'c'], atOnce: 2, workflow: 'w', onStep: ({ kind, step }) => console.log(kind, step) })
  console.log(JSON.stringify(fanned.branches.map(({ envelope }) => envelope.text)))
  await bus.stop()`

const told = async (child: ChildProcess): Promise<string> => {
  let text = ''
  child.stdout?.on('data', chunk => {
    text += chunk
  })
  await once(child, 'close')
  return text
}

/** Kills the script when a and c are answered and b runs. */
const killInTheMiddle = async (child: ChildProcess, world: World): Promise<void> => {
  let text = ''
  child.stdout?.on('data', chunk => {
    text += chunk
  })
  await until(() => text.includes('answered 1') && text.includes('answered 3') && callsOf(world, 'b') === 1)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('a script that was killed goes on: what was answered is not asked again, and what its end cut runs anew', async t => {
  const world = await makeWorld(t)
  await world.config({ instances })
  await killInTheMiddle(await start(t, world, 'first.ts', fanning), world)
  writeFileSync(path.join(world.folder, 'go'), '')
  const text = await told(await start(t, world, 'second.ts', fanning))
  t.regex(text, /\["x a","x b","x c"\]/)
  t.deepEqual([callsOf(world, 'a'), callsOf(world, 'b'), callsOf(world, 'c')], [1, 2, 1])
})

test('a step that still runs in another process is joined, and not run twice', async t => {
  const world = await makeWorld(t)
  await world.config({ instances })
  const host = await start(t, world, 'host.ts', `await launch('budgets.json'); console.log('up')`)
  if (host.stdout === null) throw new Error('no stdout')
  await once(host.stdout, 'data')
  await killInTheMiddle(await start(t, world, 'first.ts', fanning), world)
  const second = await start(t, world, 'second.ts', fanning)
  let text = ''
  second.stdout?.on('data', chunk => {
    text += chunk
  })
  await until(() => text.includes('asked 2'))
  writeFileSync(path.join(world.folder, 'go'), '')
  if (second.exitCode === null) await once(second, 'close')
  t.regex(text, /\["x a","x b","x c"\]/)
  t.deepEqual([callsOf(world, 'a'), callsOf(world, 'b'), callsOf(world, 'c')], [1, 1, 1])
})
