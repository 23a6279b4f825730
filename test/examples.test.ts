import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import { makeWorld } from './launch/world.ts'

const top = fileURLToPath(new URL('..', import.meta.url))
const door = new URL('../src/index.ts', import.meta.url).href

/** A place with the examples, their budgets.json and something to look at; the package is the sources, as they are. */
const placeFor = async (t: ExecutionContext) => {
  const { folder, where } = await makeWorld(t)
  await cp(path.join(top, 'examples'), path.join(folder, 'examples'), { recursive: true })
  await cp(path.join(top, 'budgets.json'), path.join(folder, 'budgets.json'))
  for (const [name, text] of [
    ['bin/run.js', 'console.log(1)\n'],
    ['docs/index.md', '# Title\n'],
  ] as const) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  return async (name: string): Promise<readonly string[]> => {
    const script = await readFile(path.join(top, 'examples', name), 'utf8')
    await writeFile(path.join(folder, 'examples', name), script.replace("'errand'", JSON.stringify(door)))
    const options = { cwd: folder, env: where.environment }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [`examples/${name}`], options)
    t.is(stderr, '')
    return stdout.trimEnd().split('\n')
  }
}

test('examples/one-question.ts', async t => {
  const run = await placeFor(t)
  t.regex((await run('one-question.ts'))[0] ?? '', /^Surveyed \d+ files/)
})

test('examples/review-and-fix.ts', async t => {
  const run = await placeFor(t)
  const lines = await run('review-and-fix.ts')
  t.regex(lines[0] ?? '', /^pass: Nothing that must be fixed is left among \d+ findings\.$/)
  t.regex(lines[1] ?? '', /^Passed for \$0\.00\d\d\.$/)
  t.is(lines.length, 2)
})

test('examples/fan-out-and-judge.ts', async t => {
  const run = await placeFor(t)
  const lines = await run('fan-out-and-judge.ts')
  t.regex(lines[0] ?? '', /^bin: Surveyed 1 files/)
  t.regex(lines[1] ?? '', /^docs: Surveyed 1 files/)
  t.regex(lines[2] ?? '', /^examples: Surveyed \d+ files/)
  t.regex(lines[3] ?? '', /^Verdict: /)
  t.true(lines.some(line => line.startsWith('  bin/run.js:1  console.log(1)')))
  t.regex(lines.at(-1) ?? '', /^All of it: \$0\.0\d\d\d; errand log [0-9a-f]{16}$/)
})

test('examples/research-chain.ts, and again from what was kept', async t => {
  const run = await placeFor(t)
  const lines = await run('research-chain.ts')
  t.deepEqual(lines.slice(0, 3), ['1. worker', '2. reviewer', '3. worker'])
  t.regex(lines[3] ?? '', /^Surveyed \d+ files/)
  const again = await run('research-chain.ts')
  t.deepEqual(again.slice(0, 3), ['1. worker (kept)', '2. reviewer (kept)', '3. worker (kept)'])
  t.deepEqual(again.slice(3), lines.slice(3))
})
