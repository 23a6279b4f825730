import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { launch } from '../src/index.ts'
import { interleaved, median, ms, type Row, timed } from './measure.ts'

const rounds = 21

/** `errand talk` to a running instance, the whole process, against `node -e 0` and the turn. */
export const commandLine = async (): Promise<readonly Row[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-bench-'))
  const file = join(folder, 'budgets.json')
  const worker = { engine: 'command', command: ['cat'] }
  await writeFile(file, JSON.stringify({ bus: { stateDir: join(folder, 'state') }, instances: { worker } }))
  const bus = await launch(file)
  const errand = fileURLToPath(new URL('../bin/errand.js', import.meta.url))
  const installed = await installIn(folder)
  const args = ['talk', 'worker', 'hi', '--config', file]
  const node =
    (...argv: readonly string[]) =>
    () =>
      timed(() => execa(process.execPath, argv, { stdin: 'ignore' }))
  const times = await interleaved(rounds, [
    ['empty', node('-e', '0')],
    ['turn', () => timed(() => bus.talk('worker', 'hi'))],
    ['installed', node(installed, ...args)],
    ['checkout', node(errand, ...args)],
  ])
  await bus.stop()
  await rm(folder, { recursive: true })
  const floor = median(times('empty')) + median(times('turn'))
  const row = (what: string, took: number): Row => ({
    what: `errand talk to a running instance, ${what}`,
    floor: ms(floor),
    ours: `${ms(took)} (+${(took - floor).toFixed(0)})`,
    goal: '≤ +150 ms',
    met: took - floor <= 150,
  })
  return [row('installed', median(times('installed'))), row('from a checkout', median(times('checkout')))]
}

/** As npm lays it out: the shim and the compiled code, without the sources. */
const installIn = async (folder: string): Promise<string> => {
  const top = fileURLToPath(new URL('..', import.meta.url))
  for (const part of ['bin', 'dist', 'package.json']) await cp(join(top, part), join(folder, part), { recursive: true })
  await symlink(join(top, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'bin', 'errand.js')
}
