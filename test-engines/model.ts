import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ChatCompletionRequest, type ChatMessage, type FixtureResponse, LLMock } from '@copilotkit/aimock'
import { type Api, beginAnswer } from './begun-answer.ts'

/**
 * `ok`: answers with what it was asked, for 1200 and 34 tokens. `tool`: asks for one shell command first, and answers with
 * what that printed. `refuses`: 401. `limits`: 429. `stalls`: begins an answer and never ends it.
 */
export type Mode = 'ok' | 'tool' | 'refuses' | 'limits' | 'stalls'

/** A model's API on loopback, as both providers speak it. */
export interface Model {
  /** The base address for a CLI; the mode is a part of its path. */
  readonly url: (mode: Mode) => string
  /** Requests to the model so far. */
  readonly asked: () => number
  /** Resolved when an answer has begun that will not end. */
  readonly begun: Promise<void>
  readonly stop: () => Promise<void>
}

export const startModel = async (command: string): Promise<Model> => {
  const mocks = { ok: await mock(answer), tool: await mock(callTool(command)) }
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let asked = 0

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const [, mode, path = '/'] = /^\/(\w+)(\/.*)?$/.exec(incoming.url ?? '') ?? []
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
    const api: Api | undefined = path.includes('/messages')
      ? 'anthropic'
      : path.includes('/responses')
        ? 'openai'
        : undefined
    if (api === undefined || incoming.method !== 'POST') return void outgoing.writeHead(404).end()
    asked += 1
    if (mode === 'refuses') return refuse(outgoing, 401, refusals[api])
    if (mode === 'limits') return refuse(outgoing, 429, limits[api])
    if (mode === 'stalls') {
      beginAnswer(api, outgoing)
      return begin()
    }
    forward(mode === 'tool' ? mocks.tool.url : mocks.ok.url, path, Buffer.concat(chunks), incoming, outgoing)
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing).catch(() => outgoing.destroy()))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: mode => `http://127.0.0.1:${port}/${mode}`,
    asked: () => asked,
    begun,
    stop: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await Promise.all([mocks.ok.stop(), mocks.tool.stop()])
    },
  }
}

/** What the model says to a request. */
type Answer = (request: ChatCompletionRequest) => FixtureResponse

const usage = { prompt_tokens: 1200, completion_tokens: 34, input_tokens: 1200, output_tokens: 34 }

const mock = async (factory: Answer): Promise<LLMock> => {
  const llm = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 200, logLevel: 'silent' })
  llm.on({ predicate: () => true }, factory)
  await llm.start()
  return llm
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('')

// The whole prompt back would be long: its length, and both of its ends.
const answer: Answer = ({ messages, model }) => {
  const all = messages.map(message => `${message.role}: ${textOf(message)}`).join('\n')
  const asked = messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .join('\n')
  const marks = [...asked.matchAll(/<<(\w+)>>/g)].map(([, mark]) => mark)
  const system = /instructed-(\w+)/.exec(all)?.[1] ?? 'none'
  return { usage, content: `model=${model} marks=${marks.join(',')} system=${system} chars=${asked.length}` }
}

const callTool =
  (command: string): Answer =>
  ({ messages, tools = [] }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return { usage, content: `the command said: ${textOf(last)}` }
    const names = tools.map(tool => tool.function.name)
    const name = ['Bash', 'exec_command', 'shell_command'].find(one => names.includes(one)) ?? 'none'
    const given = name === 'exec_command' ? { cmd: command } : { command }
    return { usage, toolCalls: [{ name, arguments: JSON.stringify(given) }] }
  }

const refusals: Readonly<Record<Api, object>> = {
  anthropic: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
  openai: { error: { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' } },
}

const limits: Readonly<Record<Api, object>> = {
  anthropic: {
    type: 'error',
    error: { type: 'rate_limit_error', message: 'This request would exceed your rate limit.' },
  },
  openai: { error: { message: 'Rate limit reached for requests', type: 'requests', code: 'rate_limit_exceeded' } },
}

const refuse = (outgoing: ServerResponse, status: number, body: object): void => {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const forward = (
  base: string,
  path: string,
  body: Buffer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void => {
  const { host: _host, 'accept-encoding': _encoding, 'transfer-encoding': _transfer, ...headers } = incoming.headers
  const onward = request(`${base}${path}`, { method: 'POST', headers: { ...headers, 'content-length': body.length } })
  onward.on('response', back => {
    outgoing.writeHead(back.statusCode ?? 502, back.headers)
    back.pipe(outgoing)
  })
  onward.on('error', () => outgoing.destroy())
  onward.end(body)
}
