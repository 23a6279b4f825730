import type { DoctorOptions } from './options.ts'
import type { Terminal } from './terminal.ts'
export const doctor = async (_terminal: Terminal, _options: DoctorOptions): Promise<number> => 0
