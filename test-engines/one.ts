import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { Access } from '../src/engine/engine.ts'
import type { EngineSettings } from '../src/engine/settings.ts'
import { isCliName, pinnedCli } from './clis.ts'
import { isMode, startModel } from './model.ts'
import { closedUrl, makePlace } from './place.ts'
import { setupOf } from './setups.ts'
import { openBench } from './turn.ts'

// node test-engines/one.ts CLI MODE [PROMPT]: one turn of a real CLI, to be looked at; modes: model.ts and refusals.ts.
//   --record FOLDER         keeps argv, stdout, stderr and exit of the CLI there
//   --access, --model, --instructions, --timeout MS, --usd N (allowance), --resume ID, --fresh (not logged in), --closed (nobody listens)
//   --command 'echo hi'     what the model asks for in the mode `tool`
//   --again                 a second turn on the session of the first
//   --raw -- ARGS           no engine: the CLI with these arguments, the prompt on stdin
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    record: { type: 'string' },
    access: { type: 'string' },
    model: { type: 'string' },
    instructions: { type: 'string' },
    timeout: { type: 'string' },
    usd: { type: 'string' },
    resume: { type: 'string' },
    command: { type: 'string' },
    fresh: { type: 'boolean', default: false },
    closed: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    raw: { type: 'boolean', default: false },
  },
})

const accesses: readonly Access[] = ['read', 'write', 'full']
const [name = '', mode = 'ok', ...rest] = positionals
if (!isCliName(name) || !isMode(mode)) throw new Error('node test-engines/one.ts CLI MODE [PROMPT]')
const { path } = await pinnedCli(name)
const recorder =
  values.record === undefined ? [] : [join(import.meta.dirname, 'record.sh'), join(process.cwd(), values.record)]
const url = values.closed ? { url: await closedUrl() } : {}

if (values.raw) {
  // No engine may be there yet: nothing but the place.
  const place = await makePlace()
  const model = await startModel({ command: values.command ?? 'echo hi', path: join(place.cwd, 'made.txt') })
  const setup = setupOf(name, url.url ?? model.url(mode), !values.fresh)
  await place.furnish(setup)
  const [file = path, ...args] = [...recorder, path, ...setup.args, ...rest]
  const startedAt = performance.now()
  const child = spawn(file, args, {
    cwd: place.cwd,
    env: place.environment(setup),
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    timeout: Number(values.timeout ?? 120_000),
  })
  child.stdin.end('Say hi <<ALPHA>>')
  const [code, signal] = await new Promise<unknown[]>(resolve => child.on('exit', (...how) => resolve(how)))
  if (child.pid !== undefined) {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  console.error(`\nexit ${code ?? signal}, ${Math.round(performance.now() - startedAt)} ms, ${model.asked()} requests`)
  await model.stop()
  await place.remove()
} else {
  const bench = await openBench(name, [...recorder, path])
  const access = accesses.find(one => one === values.access)
  const settings: Partial<EngineSettings> = {
    ...(access === undefined ? {} : { access }),
    ...(values.model === undefined ? {} : { model: values.model }),
    ...(values.instructions === undefined ? {} : { instructions: values.instructions }),
    ...(values.timeout === undefined ? {} : { timeoutMs: Number(values.timeout) }),
  }
  const asked = {
    mode,
    settings,
    loggedIn: !values.fresh,
    ...url,
    ...(values.command === undefined ? {} : { command: values.command }),
    ...(rest.length === 0 ? {} : { prompt: rest.join(' ') }),
    ...(values.usd === undefined ? {} : { allowance: { microUsd: Number(values.usd) * 1e6 } }),
  }
  const show = ({ report, ms, asked, heard, events }: Awaited<ReturnType<typeof bench.turn>>): void => {
    const { outcome, ...cost } = report
    const { end: { noise = '', stderr = '' } = {} } = heard
    console.log(
      JSON.stringify(
        { outcome: E.isRight(outcome) ? outcome.right : outcome.left, ...cost, ms, requests: asked },
        null,
        2,
      ),
    )
    for (const event of events) console.log(' event ', JSON.stringify(event).slice(0, 300))
    for (const record of heard.records) console.log(' record', record.slice(0, 300))
    if (noise !== '') console.log(' noise ', noise)
    if (stderr !== '') console.log(' stderr', stderr)
  }
  try {
    const first = await bench.turn({
      ...asked,
      ...(values.resume === undefined ? {} : { resume: { session: values.resume } }),
    })
    show(first)
    const { session, sessionTotal } = first.report
    if (values.again && session !== undefined) {
      const { microUsd, tokens } = sessionTotal ?? {}
      const resume = {
        session,
        ...(microUsd === undefined ? {} : { totalMicroUsd: microUsd }),
        ...(tokens === undefined ? {} : { totalTokens: tokens }),
      }
      show(await bench.turn({ ...asked, resume, prompt: 'And again <<BETA>>' }))
    }
  } finally {
    await bench.close()
  }
}
