import type { Readable, Writable } from 'node:stream'
import { type CallToolRequest, Server, type ServerContext } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import * as E from 'fp-ts/lib/Either.js'
import { aboutDelegating, serverName } from '../bus/delegating.ts'
import type { State } from '../launch/state.ts'
import { type TalkEvent, talk } from '../launch/talk.ts'
import { stopwatch } from '../process/stopwatch.ts'
import { type Asking, answer, type Desk } from './answer.ts'
import { errandsOf } from './errands.ts'
import { circleOf, sayInstances } from './instances.ts'
import { type Said, sayFailure } from './said.ts'
import { callOf, tools } from './tools.ts'

/** A client, and what it is told of us. */
export interface Connection {
  readonly input: Readable
  readonly output: Writable
  readonly version: string
  /** Aborted: as if the client were gone. */
  readonly end: AbortSignal
  /** What happens meanwhile, for people. */
  readonly onEvent: (event: TalkEvent) => void
  readonly onError: (error: Error) => void
  readonly verbose: boolean
  readonly beatMs?: number
  readonly patienceMs?: number
}

const usualBeatMs = 10_000
const usualPatienceMs = 50_000

/** Serves one MCP client until it is gone, and ends what it left open. */
export const serveMcp = async (state: State, connection: Connection): Promise<void> => {
  const { input, output, version } = connection
  const gone = goneOf(connection)
  const desk = deskOf(state, connection, gone)
  const instructions = await instructionsFor(state)
  const handle = serveStdio(
    () => {
      const server = new Server({ name: serverName, version }, { capabilities: { tools: {} }, instructions })
      server.setRequestHandler('tools/list', () => ({ tools }))
      server.setRequestHandler('tools/call', (request, context) => called(desk, request, context))
      return server
    },
    { transport: new StdioServerTransport(input, output), onerror: connection.onError },
  )
  if (!gone.aborted) await new Promise(resolve => gone.addEventListener('abort', resolve, { once: true }))
  await handle.close()
  await Promise.all(desk.errands.open().map(({ reply }) => reply))
}

/** Aborted when nobody reads or writes there any more. */
const goneOf = ({ input, output, end }: Connection): AbortSignal => {
  const controller = new AbortController()
  const leave = () => controller.abort()
  for (const event of ['end', 'close', 'error']) input.once(event, leave)
  for (const event of ['close', 'error']) output.once(event, leave)
  return AbortSignal.any([controller.signal, end])
}

const deskOf = (state: State, connection: Connection, gone: AbortSignal, now = stopwatch()): Desk => ({
  errands: errandsOf(
    async (wish, signal, onProgress) => {
      const { onEvent, verbose } = connection
      return (await talk(state, { ...wish, signal, onProgress, onEvent, verbose })()).envelope
    },
    now,
    gone,
  ),
  instances: sayInstances(state),
  now,
  beatMs: connection.beatMs ?? usualBeatMs,
  patienceMs: connection.patienceMs ?? usualPatienceMs,
})

const byTools = 'call `delegate`, or `delegate_later` and `collect`'

/** The one paragraph by which a client, and its agent, knows what this is for. */
const instructionsFor = async (state: State): Promise<string> => {
  const circle = await circleOf(state)()
  // What is wrong is told to whoever calls a tool.
  return E.isLeft(circle) ? circle.left.sentence : aboutDelegating(circle.right.me, circle.right.others, byTools)
}

const called = async (desk: Desk, { params }: CallToolRequest, { mcpReq }: ServerContext): Promise<Said> => {
  const call = callOf(params.name, params.arguments ?? {})
  if (E.isLeft(call)) return sayFailure(call.left)
  const { signal, _meta: { progressToken } = {} } = mcpReq
  if (progressToken === undefined) return answer(desk, call.right, { signal })
  let progress = 0
  const tell: Asking['tell'] = message => {
    progress += 1
    // A client that went away meanwhile is noticed elsewhere.
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch(() => undefined)
  }
  return answer(desk, call.right, { signal, tell })
}
