import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import Koa from 'koa'
import { launch } from '../src/index.ts'
import { failureEnvelope } from '../src/protocol/envelope.ts'
import { budgetExhausted } from '../src/protocol/failure.ts'
import { interleaved, median, type Row } from './measure.ts'

const rounds = 7
const requests = 3000
const atOnce = 16

/** Refusals per second, against a bare Koa app that reads and answers the same JSON. */
export const refusals = async (): Promise<readonly Row[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'errand-bench-'))
  const file = join(folder, 'budgets.json')
  const stateDir = join(folder, 'state')
  const open = { engine: 'command', command: ['cat'], peers: ['caller'] }
  const instances = { open, empty: { ...open, budget: { usd: 0 } } }
  await writeFile(file, JSON.stringify({ bus: { stateDir }, instances }))
  const bus = await launch(file)
  const secret = (await readFile(join(stateDir, 'secret'), 'utf8')).trim()
  const portOf = (name: string): string =>
    new URL(bus.instances.find(instance => instance.name === name)?.url ?? 'http://127.0.0.1:0').port
  const bare = await bareApp()

  const send = (port: string, bearer: string, talk: object) => async (): Promise<number> => {
    const load = fileURLToPath(new URL('load.ts', import.meta.url))
    const body = JSON.stringify({ fromInstance: 'caller', prompt: 'ping', depth: 1, ...talk })
    const args = [load, port, String(requests), String(atOnce), bearer, body]
    return Number((await execa(process.execPath, args)).stdout)
  }
  const perSecond = await interleaved(rounds, [
    ['bare', send(bare.port, secret, {})],
    ['secret', send(portOf('open'), 'wrong', {})],
    ['depth', send(portOf('open'), secret, { depth: 9 })],
    ['peer', send(portOf('open'), secret, { fromInstance: 'stranger' })],
    ['budget', send(portOf('empty'), secret, {})],
  ])
  bare.close()
  await bus.stop()
  await rm(folder, { recursive: true })

  const floor = median(perSecond('bare'))
  return (
    [
      ['secret', 0.8],
      ['depth', 0.7],
      ['peer', 0.7],
      ['budget', 0.55],
    ] as const
  ).map(([what, goal]) => {
    const share = median(perSecond(what)) / floor
    return {
      what: `refusals per second, ${what}`,
      floor: floor.toFixed(0),
      ours: `${median(perSecond(what)).toFixed(0)} (${(share * 100).toFixed(0)} %)`,
      goal: `≥ ${Math.round(goal * 100)} %`,
      met: share >= goal,
    }
  })
}

const bareApp = async (): Promise<{ readonly port: string; readonly close: () => void }> => {
  const envelope = failureEnvelope(budgetExhausted(0, 0), { fromInstance: 'empty', durationMs: 0 })
  const app = new Koa()
  app.use(async ctx => {
    const parts: Buffer[] = []
    for await (const part of ctx.req) parts.push(part)
    JSON.parse(Buffer.concat(parts).toString())
    ctx.status = 402
    ctx.body = envelope
  })
  const server = createServer(app.callback())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port: String(port), close: () => server.close() }
}
