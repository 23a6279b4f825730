import type { InitOptions } from './options.ts'
import type { Terminal } from './terminal.ts'
export const init = async (_terminal: Terminal, _options: InitOptions): Promise<number> => 0
