import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Command } from '../src/engine/engine.ts'
import { environmentOf } from '../src/engine/environment.ts'
import type { RunRequest } from '../src/engine/run-request.ts'
import { type CliName, cliNames, installedCli } from '../test-engines/clis.ts'
import { type Bench, openBench } from '../test-engines/turn.ts'
import { median, ms, type Row, timed } from './measure.ts'

const pairs = 12

/** A cold turn of the real CLI, from spawn to answer, against the same process started by hand. */
export const cold =
  (names: readonly CliName[] = ['claude', 'codex']) =>
  async (): Promise<readonly Row[]> => {
    const rows: Row[] = []
    for (const name of names) rows.push(await coldOf(name))
    return rows
  }

export const everyCli = cliNames

const goal = '≤ 1.10×, median of the pairs'

const coldOf = async (name: CliName): Promise<Row> => {
  const what = `a cold turn of ${name}, ${pairs} pairs`
  const cli = await installedCli(name)
  if (cli === undefined) return { what, floor: 'not in .clis', ours: '-', goal, met: false }
  const bench = await openBench(name, [cli.path])
  try {
    // The first one in a home is slower: the CLI settles in.
    const command = await ours(bench)
    await byHand(await bench.requestFor({ mode: 'ok' }), command)
    const times: { readonly hand: number; readonly ours: number }[] = []
    for (let n = 0; n < pairs; n++) {
      const request = await bench.requestFor({ mode: 'ok' })
      const hand = (): Promise<number> => timed(() => byHand(request, command))
      const first = n % 2 === 0 ? await hand() : undefined
      const turn = await timed(() => ours(bench))
      times.push({ hand: first ?? (await hand()), ours: turn })
    }
    const ratio = median(times.map(pair => pair.ours / pair.hand))
    const [floor, turn] = [median(times.map(pair => pair.hand)), median(times.map(pair => pair.ours))]
    return { what, floor: ms(floor), ours: `${ms(turn)}, ${ratio.toFixed(3)}×`, goal, met: ratio <= 1.1 }
  } catch (error) {
    return { what, floor: '-', ours: error instanceof Error ? error.message.slice(0, 120) : '-', goal, met: false }
  } finally {
    await bench.close()
  }
}

const ours = async (bench: Bench): Promise<Command> => {
  const { report, heard } = await bench.turn({ mode: 'ok' })
  if (E.isLeft(report.outcome)) throw new Error(report.outcome.left.sentence)
  if (heard.command === undefined) throw new Error('It was never started.')
  return heard.command
}

// The same arguments, environment, files and standard input; nothing is read but to its end.
const byHand = async (request: RunRequest, command: Command): Promise<void> => {
  const { settings, environment: host, turnEnvironment: turn, binFolder, turnFolder } = request
  const { env = [] } = settings.engine
  const environment = environmentOf({
    host,
    engineNames: typeof env === 'function' ? env(settings.model) : env,
    instanceNames: settings.env,
    command: command.env ?? {},
    turn,
    tells: false,
    binFolder,
  })
  for (const [name, content] of Object.entries(command.files ?? {})) {
    await mkdir(turnFolder, { recursive: true, mode: 0o700 })
    await writeFile(join(turnFolder, name), content)
  }
  const child = spawn(command.file, command.args, { cwd: settings.cwd, env: environment, stdio: 'pipe' })
  child.stdout.resume()
  child.stderr.resume()
  child.stdin.end(command.stdin)
  const code = await new Promise(resolve => child.once('exit', resolve))
  await rm(turnFolder, { recursive: true, force: true })
  if (code !== 0) throw new Error(`By hand it ended with ${String(code)}.`)
}
