import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The versions that the engines were checked against (`checkedAgainst`). */
export const packages = {
  claude: ['@anthropic-ai/claude-code', '2.1.332'],
  codex: ['@openai/codex', '0.171.0'],
  gemini: ['@google/gemini-cli', '0.61.0'],
  opencode: ['opencode-ai', '1.18.33'],
  qwen: ['@qwen-code/qwen-code', '0.24.4'],
  copilot: ['@github/copilot', '1.0.102'],
  pi: ['@earendil-works/pi-coding-agent', '1.6.0'],
} as const

export type CliName = keyof typeof packages

export const cliNames: readonly CliName[] = ['claude', 'codex', 'gemini', 'opencode', 'qwen', 'copilot', 'pi']

export const isCliName = (name: string): name is CliName => Object.hasOwn(packages, name)

export interface Cli {
  readonly path: string
  readonly version: string
}

/** A provider's CLI in the version that its engine was checked against, installed into `.clis/` where it is not there yet. */
export const pinnedCli = async (name: CliName): Promise<Cli> => {
  const [pack, version] = packages[name]
  if ((await installedVersion(pinned, pack)) !== version) await install(pinned, `${pack}@${version}`)
  return startable(pinned, name)
}

/** The newest one, in a folder of its own. */
export const latestCli = async (name: CliName): Promise<Cli> => {
  const folder = join(latest, name)
  await install(folder, `${packages[name][0]}@latest`)
  return startable(folder, name)
}

/** The path of the CLI where it is installed in its checked version already; installs nothing. */
export const installedCli = async (name: CliName): Promise<Cli | undefined> => {
  const [pack, version] = packages[name]
  return (await installedVersion(pinned, pack)) === version ? { path: binOf(pinned, name), version } : undefined
}

const root = join(import.meta.dirname, '..')
const pinned = join(root, '.clis')
const latest = join(root, '.clis-latest')
const run = promisify(execFile)

const binOf = (folder: string, name: CliName): string => join(folder, 'node_modules', '.bin', name)

// Installing without scripts leaves a launcher that starts nothing.
const startable = async (folder: string, name: CliName): Promise<Cli> => {
  const path = binOf(folder, name)
  await run(path, ['--version'], { timeout: 60_000 })
  return { path, version: (await installedVersion(folder, packages[name][0])) ?? 'unknown' }
}

const install = async (folder: string, what: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', what], { timeout: 540_000 })
}

const installedVersion = async (folder: string, pack: string): Promise<string | undefined> => {
  const file = join(folder, 'node_modules', pack, 'package.json')
  const text = await readFile(file, 'utf8').catch(() => '{}')
  return /"version":\s*"([^"]+)"/.exec(text)?.[1]
}
