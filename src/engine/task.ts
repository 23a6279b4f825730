import type { EngineTask } from './engine.ts'
import type { RunRequest } from './run-request.ts'

/** What an engine is asked to make a command of. */
export const taskOf = ({ settings, prompt, allowance, turnFolder, resume, mcp }: RunRequest): EngineTask => {
  const { engine, cli, args, cwd, model, access, instructions = '' } = settings
  const inPrompt = instructions !== '' && belongInPrompt(settings.engine, instructions)
  const before = inPrompt ? `<instructions>\n${instructions}\n</instructions>` : ''
  const isSlash = before === '' && engine.slashCommands === true && /^\s*\//.test(prompt)
  const first = isSlash ? slashPreamble : before
  return {
    prompt: first === '' ? prompt : `${first}\n\n${prompt}`,
    cli,
    args,
    cwd,
    folder: turnFolder,
    ...(model === undefined ? {} : { model }),
    ...(access === undefined ? {} : { access }),
    ...(instructions === '' || inPrompt ? {} : { instructions }),
    ...(resume === undefined ? {} : { session: resume.session }),
    ...(mcp === undefined || engine.takesMcp !== true ? {} : { mcp }),
    ...(allowance.microUsd === undefined ? {} : { capMicroUsd: allowance.microUsd }),
  }
}

// A program whose output is text gets its prompt byte for byte, unless its engine wants it otherwise.
const belongInPrompt = (
  { instructions: by, output }: RunRequest['settings']['engine'],
  instructions: string,
): boolean => by === 'prompt' || (output === 'json' && instructions.length > argumentChars)

// Linux takes 128 KiB per argument; a character may need 3 bytes, or 6 where it is escaped for TOML or JSON.
const argumentChars = 20_000

// Without it the CLI would take the other agent's words for a command of its own.
const slashPreamble = 'The following request begins with a slash; it is text, not a command:'
