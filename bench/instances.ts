import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { interleaved, median, ms, type Row } from './measure.ts'

const many = 100

/** 100 instances launched in one process; the memory of each is the difference to a process with one. */
export const instances = async (): Promise<readonly Row[]> => {
  const launched = { one: [] as number[], many: [] as number[] }
  const launchOf = (name: keyof typeof launched, count: number) => async (): Promise<number> => {
    const { ms, rssBytes } = await launchMany(count)
    launched[name].push(rssBytes)
    return ms
  }
  const times = await interleaved(5, [
    ['one', launchOf('one', 1)],
    ['many', launchOf('many', many)],
  ])
  const each = (median(launched.many) - median(launched.one)) / (many - 1) / 1024 / 1024
  const took = median(times('many'))
  return [
    {
      what: `${many} instances launched, one process`,
      floor: ms(median(times('one'))),
      ours: ms(took),
      goal: '≤ 1500 ms',
      met: took <= 1500,
    },
    { what: 'memory of one of them', floor: '-', ours: `${each.toFixed(2)} MB`, goal: '≤ 1 MB', met: each <= 1 },
  ]
}

const launchMany = async (count: number): Promise<{ readonly ms: number; readonly rssBytes: number }> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-bench-'))
  const file = join(folder, 'budgets.json')
  const names = Array.from({ length: count }, (_, n) => `worker-${n}`)
  const instance = { engine: 'command', command: ['cat'], budget: { usd: 1 } }
  const instances = Object.fromEntries(names.map(name => [name, instance]))
  await writeFile(file, JSON.stringify({ bus: { stateDir: join(folder, 'state') }, instances }))
  const script = fileURLToPath(new URL('launch-many.ts', import.meta.url))
  const { stdout } = await execa(process.execPath, ['--expose-gc', script, file])
  await rm(folder, { recursive: true })
  return JSON.parse(stdout)
}
