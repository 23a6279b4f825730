import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { LLMock } from '@copilotkit/aimock'
import { type Answer, delegate, echo, neverReady, runTool, writeFile } from './answers.ts'
import { apiOf } from './apis.ts'
import { beginAnswer } from './begun-answer.ts'
import { flattened, unflattened } from './namespaces.ts'
import { isRefusal, type Refusal, refuse } from './refusals.ts'

/**
 * `ok`: answers with what it was asked, for 1200 and 34 tokens. `tool`: asks for one shell command first. `write`: asks for a
 * file to be written. `delegates`: asks another agent first. `dear`: asks for commands again and again, for 100,000 tokens
 * each. `stalls`: begins an answer and never ends it. The refusals: see there.
 */
export type Mode = 'ok' | 'tool' | 'write' | 'delegates' | 'dear' | 'stalls' | Refusal

/** A model's API on loopback, as all providers speak it. */
export interface Model {
  /** The base address for a CLI; the mode is a part of its path. */
  readonly url: (mode: Mode) => string
  /** Requests to the model so far. */
  readonly asked: () => number
  /** What it asks to be done from now on. */
  readonly wish: (wishes: Wishes) => void
  /** Resolved when an answer has begun that will not end. */
  readonly begun: Promise<void>
  readonly hasBegun: () => boolean
  readonly stop: () => Promise<void>
}

/** What the model asks to be done: a shell command, and a file to be written (absolute). */
export interface Wishes {
  readonly command: string
  readonly path: string
}

export const startModel = async (first: Wishes): Promise<Model> => {
  let wishes = first
  const mocks = {
    ok: await mock(echo),
    tool: await mock(runTool(() => wishes.command)),
    write: await mock(writeFile(() => wishes.path)),
    delegates: await mock(delegate),
    dear: await mock(neverReady),
  }
  const urlOf = (mode: string): string => (isAnswering(mode) ? mocks[mode] : mocks.ok).url
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let asked = 0
  let hasBegun = false

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const [, mode = '', rest = '/'] = /^\/([\w-]+)(\/.*)?$/.exec(incoming.url ?? '') ?? []
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
    const api = apiOf(rest)
    if (api === undefined || incoming.method !== 'POST') return void outgoing.writeHead(404).end()
    asked += 1
    if (isRefusal(mode)) return refuse(outgoing, mode, api)
    if (mode === 'stalls') {
      beginAnswer(api, outgoing)
      hasBegun = true
      return begin()
    }
    const body = Buffer.concat(chunks)
    if (api !== 'responses') return forward(urlOf(mode), rest, body, incoming, outgoing)
    forward(urlOf(mode), rest, flattened(body), incoming, outgoing, unflattened)
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing).catch(() => outgoing.destroy()))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: mode => `http://127.0.0.1:${port}/${mode}`,
    asked: () => asked,
    wish: next => {
      wishes = next
    },
    begun,
    hasBegun: () => hasBegun,
    stop: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      for (const one of Object.values(mocks)) await one.stop()
    },
  }
}

export const isMode = (name: string): name is Mode => isAnswering(name) || name === 'stalls' || isRefusal(name)

const isAnswering = (mode: string): mode is 'ok' | 'tool' | 'write' | 'delegates' | 'dear' =>
  ['ok', 'tool', 'write', 'delegates', 'dear'].includes(mode)

const mock = async (answer: Answer): Promise<LLMock> => {
  const llm = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 200, logLevel: 'silent' })
  llm.on({ predicate: () => true }, answer)
  await llm.start()
  return llm
}

const forward = (
  base: string,
  path: string,
  body: Buffer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  rewritten?: (answer: Buffer) => Buffer,
): void => {
  const { host: _host, 'accept-encoding': _encoding, 'transfer-encoding': _transfer, ...headers } = incoming.headers
  const onward = request(`${base}${path}`, { method: 'POST', headers: { ...headers, 'content-length': body.length } })
  onward.on('response', back => {
    const { 'content-length': _length, ...headers } = back.headers
    outgoing.writeHead(back.statusCode ?? 502, rewritten === undefined ? back.headers : headers)
    if (rewritten === undefined) return void back.pipe(outgoing)
    void buffer(back).then(
      answer => outgoing.end(rewritten(answer)),
      () => outgoing.destroy(),
    )
  })
  onward.on('error', () => outgoing.destroy())
  onward.end(body)
}
