import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The versions that the engines were checked against (`checkedAgainst`). */
export const packages = {
  claude: ['@anthropic-ai/claude-code', '2.1.332'],
  codex: ['@openai/codex', '0.171.0'],
} as const

export type CliName = keyof typeof packages

/** The path of a provider's CLI, installed into `.clis/` where it is not there yet. */
export const cliPath = async (name: CliName): Promise<string> => {
  const [pack, version] = packages[name]
  if ((await installedVersion(pack)) !== version) await install(`${pack}@${version}`)
  const path = join(folder, 'node_modules', '.bin', name)
  // Installing without scripts leaves a launcher that starts nothing.
  await run(path, ['--version'], { timeout: 60_000 })
  return path
}

const folder = join(import.meta.dirname, '..', '.clis')
const run = promisify(execFile)

const install = async (what: string): Promise<void> => {
  await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', what], { timeout: 540_000 })
}

const installedVersion = async (pack: string): Promise<string | undefined> => {
  const file = join(folder, 'node_modules', pack, 'package.json')
  const text = await readFile(file, 'utf8').catch(() => '{}')
  return /"version":\s*"([^"]+)"/.exec(text)?.[1]
}
