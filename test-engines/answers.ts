import type { ChatCompletionRequest, ChatMessage, FixtureResponse } from '@copilotkit/aimock'

/** What the model says to a request. */
export type Answer = (request: ChatCompletionRequest) => FixtureResponse

// In the words of each API.
const usageOf = (input: number, output: number) => ({
  prompt_tokens: input,
  completion_tokens: output,
  input_tokens: input,
  output_tokens: output,
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: input + output,
})

const usage = usageOf(1200, 34)

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('')

// The whole prompt back would be long: its length, and both of its ends.
export const echo: Answer = ({ messages, model }) => {
  const all = messages.map(message => `${message.role}: ${textOf(message)}`).join('\n')
  const asked = messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n')
  const marks = [...new Set([...asked.matchAll(/<<(\w+)>>/g)].map(([, mark]) => mark))]
  const system = /instructed-(\w+)/.exec(all)?.[1] ?? 'none'
  return { usage, content: `model=${model} marks=${marks.join(',')} system=${system} chars=${asked.length}` }
}

/** Asks for one shell command first, and answers with what that printed. */
export const runTool =
  (command: () => string): Answer =>
  ({ messages, tools }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return { usage, content: `the command said: ${textOf(last)}` }
    return { usage, toolCalls: [call(tools, shells, command())] }
  }

/** Asks for one file to be written, by the CLI's own tool for that where it has one. */
export const writeFile =
  (path: () => string): Answer =>
  ({ messages, tools }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return { usage, content: `the tool said: ${textOf(last)}` }
    return { usage, toolCalls: [call(tools, [...writers(path()), ...shells], `echo written > '${path()}'`)] }
  }

/** Asks another agent first, by the tool for that, and answers with what that said. */
export const delegate: Answer = ({ messages, tools }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { usage, content: `the other one said: ${textOf(last)}` }
  const names = (tools ?? []).map(tool => tool.function.name)
  const name = names.find(one => /errand.*delegate$/.test(one))
  if (name === undefined) return { usage, content: `no way to ask anybody: ${names.join(', ')}` }
  return { usage, toolCalls: [{ name, arguments: JSON.stringify({ name: 'worker', prompt: 'Say hi <<BETA>>' }) }] }
}

/** Asks for one command after the other, dearly, and gives up at last. */
export const neverReady: Answer = ({ messages, tools }) => {
  const done = messages.filter(({ role }) => role === 'tool').length
  const dear = usageOf(100_000, 1000)
  if (done >= 12) return { usage: dear, content: `gave up after ${done} commands` }
  return { usage: dear, toolCalls: [call(tools, shells, `sleep 1; echo round ${done}`)] }
}

type Tool = readonly [name: string, given: (command: string) => object]

const shells: readonly Tool[] = [
  ['Bash', command => ({ command })],
  ['exec_command', command => ({ cmd: command })],
  ['shell_command', command => ({ command })],
  ['run_shell_command', command => ({ command, is_background: false })],
  ['bash', command => ({ command, description: 'Runs it' })],
]

const writers = (path: string): readonly Tool[] => [
  ['Write', () => ({ file_path: path, content: 'written\n' })],
  ['write_file', () => ({ file_path: path, content: 'written\n' })],
  ['write', () => ({ filePath: path, path, content: 'written\n' })],
  ['create', () => ({ path, file_text: 'written\n' })],
]

const call = (
  tools: ChatCompletionRequest['tools'],
  known: readonly Tool[],
  command: string,
): { readonly name: string; readonly arguments: string } => {
  const names = (tools ?? []).map(tool => tool.function.name)
  const [name, given] = known.find(([one]) => names.includes(one)) ?? ['none', () => ({})]
  return { name, arguments: JSON.stringify(given(command)) }
}
