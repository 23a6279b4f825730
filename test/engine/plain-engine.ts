import type { Engine } from '../../src/engine/engine.ts'

/** Its records are its events. */
export const plain = (more: Partial<Engine> = {}): Engine => ({
  name: 'plain',
  output: 'json',
  command: ({ cli: [file = '', ...args], prompt }) => ({ file, args, stdin: prompt }),
  decode: record => {
    const events: unknown = Object.entries(record.json ?? {}).find(([key]) => key === 'events')?.[1]
    return Array.isArray(events) ? events : []
  },
  classify: ({ stderr, noise, exitCode, signal }) => ({
    code: 'engine_cli',
    sentence: stderr.trim() || noise.trim() || `exit ${exitCode ?? signal}`,
  }),
  ...more,
})

/** A program's line that prints a record of these events. */
export const prints = (...events: readonly object[]): string =>
  `console.log(${JSON.stringify(JSON.stringify({ events }))});`
export const answers = (text: string): object => ({ kind: 'result', ok: true, text })
/** It does not end by itself. */
export const lives = 'setInterval(() => {}, 1000);'
