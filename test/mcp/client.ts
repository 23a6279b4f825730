import { PassThrough } from 'node:stream'
import { Client, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { ExecutionContext } from 'ava'
import type { State } from '../../src/launch/state.ts'
import { type Connection, serveMcp } from '../../src/mcp/serve.ts'
import { errandScript } from '../launch/world.ts'

export interface Answered {
  readonly text: string
  readonly isError: boolean
}

export interface Calling {
  readonly client: Client
  readonly call: (
    tool: string,
    args?: Record<string, unknown>,
    options?: Parameters<Client['callTool']>[1],
  ) => Promise<Answered>
}

const calling = async (t: ExecutionContext, transport: Transport): Promise<Calling> => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  t.teardown(() => client.close())
  return {
    client,
    call: async (name, args = {}, options = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: args }, options)
      return {
        text: content.map(part => (part.type === 'text' ? part.text : part.type)).join('\n'),
        isError: isError === true,
      }
    },
  }
}

/** A client of the real `errand mcp`, in a process of its own. */
export const startMcp = async (
  t: ExecutionContext,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Calling & { readonly pid: number }> => {
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args: [errandScript, 'mcp'], cwd: folder },
    ...{ env, stderr: 'ignore' as const },
  })
  const called = await calling(t, transport)
  return { ...called, pid: transport.pid ?? 0 }
}

/** A client of the server in this process, with clocks of its own; `hangUp` closes its end. */
export const connectMcp = async (
  t: ExecutionContext,
  state: State,
  clocks: Pick<Connection, 'beatMs' | 'patienceMs'>,
): Promise<Calling & { readonly hangUp: () => void; readonly served: Promise<void> }> => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = serveMcp(state, {
    ...{ input, output, version: '0.0.0', end: new AbortController().signal, verbose: false, ...clocks },
    onEvent: () => {},
    onError: error => t.log(error),
  })
  t.teardown(async () => {
    input.end()
    await served
  })
  // Both ends of a pipe speak alike.
  return { ...(await calling(t, new StdioServerTransport(output, input))), hangUp: () => input.end(), served }
}
