import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { launch } from '../src/index.ts'
import { ms, percentile, type Row, timed } from './measure.ts'

const talks = 1000
const prompt = 'Please verify this answer.'

/** A talk with a trivial command engine, against the same execa call in the same process. */
export const talk = async (): Promise<readonly Row[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-bench-'))
  const file = join(folder, 'budgets.json')
  const worker = { engine: 'command', command: ['cat'], budget: { usd: 1000 } }
  await writeFile(file, JSON.stringify({ bus: { stateDir: join(folder, 'state') }, instances: { worker } }))
  const bus = await launch(file)
  const bare = (): Promise<unknown> => execa('cat', { input: prompt })
  const ours = async (): Promise<void> => {
    const reply = await bus.talk('worker', prompt)
    if (!reply.success) throw new Error(reply.error)
  }
  for (let n = 0; n < 50; n++) await ours().then(bare)
  const times = { bare: [] as number[], ours: [] as number[] }
  for (let n = 0; n < talks; n++) {
    const first = n % 2 === 0
    if (first) times.bare.push(await timed(bare))
    times.ours.push(await timed(ours))
    if (!first) times.bare.push(await timed(bare))
  }
  await bus.stop()
  await rm(folder, { recursive: true })
  const [floor50, floor99] = [percentile(times.bare, 0.5), percentile(times.bare, 0.99)]
  const [ours50, ours99] = [percentile(times.ours, 0.5), percentile(times.ours, 0.99)]
  const what = `a talk with a trivial command engine, ${talks} of each`
  return [
    { what: `${what}, p50`, floor: ms(floor50), ours: ms(ours50), goal: '≤ +8 ms', met: ours50 <= floor50 + 8 },
    { what: `${what}, p99`, floor: ms(floor99), ours: ms(ours99), goal: '≤ +25 ms', met: ours99 <= floor99 + 25 },
  ]
}
