import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import * as E from 'fp-ts/lib/Either.js'
import claude from '../engines/claude.ts'
import type { Engine } from '../src/engine/engine.ts'
import { run } from '../src/engine/run.ts'
import { interleaved, median, ms, type Row, timed } from './measure.ts'

const totalBytes = 10 * 1024 * 1024

// Prints records of an ordinary size, and a result at the end.
const program = `
const usage = { input_tokens: 4, output_tokens: 23, cache_read_input_tokens: 15890, cache_creation_input_tokens: 1210 }
const content = [{ type: 'text', text: 'x'.repeat(800) }]
const message = { id: 'msg_1', model: 'claude-sonnet-4-5', role: 'assistant', content, usage }
const record = JSON.stringify({ type: 'assistant', session_id: 's', parent_tool_use_id: null, message }) + '\\n'
const block = record.repeat(100)
for (let sent = 0; sent < ${totalBytes}; sent += block.length) process.stdout.write(block)
process.stdout.write(JSON.stringify({ type: 'result', is_error: false, result: 'done' }) + '\\n')
`

// Claude Code's own reading of its records, of a program that prints nothing but them.
const engine: Engine = {
  ...claude,
  command: ({ cli: [file = ''], prompt }) => ({ file, args: ['-e', program], stdin: prompt }),
}

/** 10 MB of ordinary records, against reading and parsing them in Node. */
export const records = async (): Promise<readonly Row[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-bench-'))
  await writeFile(join(folder, 'report'), '')
  const bare = async (): Promise<void> => {
    let rest = ''
    const child = execa(process.execPath, ['-e', program], { input: 'hi', buffer: false })
    child.stdout.setEncoding('utf8')
    for await (const chunk of child.stdout) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) JSON.parse(line)
    }
    await child
  }
  const ours = async (): Promise<void> => {
    const report = await run({
      settings: {
        engine,
        cli: [process.execPath],
        args: [],
        cwd: folder,
        env: [],
        timeoutMs: 60_000,
        graceMs: 1000,
        lineLimitBytes: 8 * 1024 * 1024,
      },
      prompt: 'hi',
      allowance: {},
      priceOf: () => 'unknown',
      environment: process.env,
      // A mark names one turn: what carries it after that turn is ended.
      turnFolder: join(folder, 'turn'),
      turnEnvironment: { ERRAND_TURN: randomUUID(), ERRAND_REPORT: join(folder, 'report') },
      cancel: new AbortController().signal,
      now: Date.now,
      onStarted: () => undefined,
      onSeen: () => undefined,
      onEnding: async () => undefined,
    })()
    if (E.isLeft(report.outcome)) throw new Error(report.outcome.left.sentence)
  }
  await bare()
  await ours()
  const times = await interleaved(11, [
    ['bare', () => timed(bare)],
    ['ours', () => timed(ours)],
  ])
  await rm(folder, { recursive: true })
  const ratio = median(times('ours')) / median(times('bare'))
  return [
    {
      what: '10 MB of ordinary records, the whole process',
      floor: ms(median(times('bare'))),
      ours: `${ms(median(times('ours')))} (${ratio.toFixed(2)}×)`,
      goal: '≤ 2×',
      met: ratio <= 2,
    },
  ]
}
