// 10,000 talks, 50 at a time, to a bus of its own: prints one figure per column, and fails where one of them is not reached.
// ERRAND_FAULTS=0.1 does a tenth.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { budgetStates } from '../../src/budget/states.ts'
import { openStore } from '../../src/store/open-store.ts'
import { jsonHeaders, send, talkBody } from '../../test/fixtures/http.ts'
import { right } from '../../test/store/folder.ts'
import { times } from '../counts.ts'
import { memoryMiB, openDescriptors, quantile } from '../measure.ts'

const talks = times(10_000)
const atOnce = 50
const microUsdPerTalk = 1234
const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'errand-soak-'))
const project = path.join(root, 'project')
fs.mkdirSync(project)
const instances = {
  worker: {
    engine: 'command',
    command: ['cat'],
    concurrency: atOnce,
    queue: atOnce,
    budget: { usd: 1000 },
    maxTurnUsd: 0.01,
    price: { perTurn: microUsdPerTalk / 1e6 },
  },
}
fs.writeFileSync(path.join(project, 'budgets.json'), JSON.stringify({ instances }))

const bin = fileURLToPath(new URL('../../bin/errand.js', import.meta.url))
const bus = spawn(process.execPath, [bin, 'up', '--json'], {
  cwd: project,
  env: { PATH: process.env['PATH'], HOME: project, XDG_STATE_HOME: path.join(root, 'state') },
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('exit', () => bus.kill('SIGKILL'))
const pid = bus.pid ?? 0
const [line] = await once(bus.stdout, 'data')
const port = Number(new URL(JSON.parse(String(line).split('\n')[0] ?? '').url).port)
const [state = ''] = fs.readdirSync(path.join(root, 'state', 'errand'))
const folder = path.join(root, 'state', 'errand', state)
const secret = fs.readFileSync(path.join(folder, 'secret'), 'utf8').trim()

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const durations: number[] = []
const codes = new Map<string, number>()
const heard = new Set<string>()
let next = 0

const lane = async (until: number): Promise<void> => {
  while (next < until) {
    const nth = next++
    const begun = performance.now()
    const body = talkBody({ fromInstance: 'operator', prompt: `talk ${nth}` })
    const { json } = await send(port, { headers: jsonHeaders(secret), body })
    durations.push(performance.now() - begun)
    const text = String(Reflect.get(Object(json), 'text'))
    const isRight = Reflect.get(Object(json), 'success') === true && text === `talk ${nth}` && !heard.has(text)
    heard.add(text)
    const code = isRight ? 'right' : String(Reflect.get(Object(json), 'errorCode') ?? 'wrong')
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
}
const run = async (until: number): Promise<void> => {
  await Promise.all(Array.from({ length: atOnce }, () => lane(until)))
  await pause(3000)
}

await run(Math.min(200, talks))
const begin = { memory: memoryMiB(pid), descriptors: openDescriptors(pid) }
const begun = performance.now()
await run(talks)
const seconds = (performance.now() - begun) / 1000
const end = { memory: memoryMiB(pid), descriptors: openDescriptors(pid) }

const store = right(await openStore(folder)())
const [worker] = right(await budgetStates(store, Date.now(), [{ instance: 'worker' }])())
store.close()
bus.kill('SIGTERM')
await once(bus, 'exit')
fs.rmSync(root, { recursive: true })

const ratio = end.memory / begin.memory
const figures = {
  talks,
  'at a time': atOnce,
  lost: talks - (codes.get('right') ?? 0),
  'ledger off by (micro-dollars)': (worker?.spentMicroUsd ?? Number.NaN) - talks * microUsdPerTalk,
  'still held (micro-dollars)': worker?.heldMicroUsd,
  'turns recorded': worker?.turns,
  descriptors: `${begin.descriptors} → ${end.descriptors}`,
  'memory (MiB)': `${begin.memory.toFixed(0)} → ${end.memory.toFixed(0)}, × ${ratio.toFixed(2)}`,
  'talks per second': (talks / seconds).toFixed(0),
  'p50 / p99 (ms)': `${quantile(durations, 0.5).toFixed(0)} / ${quantile(durations, 0.99).toFixed(0)}`,
  codes: JSON.stringify(Object.fromEntries(codes)),
}
console.table(figures)
const isReached =
  figures.lost === 0 &&
  figures['ledger off by (micro-dollars)'] === 0 &&
  worker?.heldMicroUsd === 0 &&
  worker.turns === talks &&
  Math.abs(end.descriptors - begin.descriptors) <= 2 &&
  ratio <= 1.2
if (!isReached) process.exitCode = 1
