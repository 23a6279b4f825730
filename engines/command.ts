import type { Engine } from '../src/engine/engine.ts'

/** Any program as an engine: the prompt on its stdin byte for byte, its stdout is the answer, exit 0 is success. */
const command: Engine = {
  name: 'command',
  install: 'Name a program that exists as the "command" of the instance.',
  output: 'text',
  command: ({ cli: [file = '', ...leading], args, prompt }) => ({ file, args: [...leading, ...args], stdin: prompt }),
  decode: () => [],
  classify: () => ({ code: 'engine_cli', sentence: '' }),
}

export default command
