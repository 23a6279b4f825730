import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'

/** A target at the far end that behaves as told. */
export interface Stub {
  readonly url: string
  readonly port: number
  readonly requests: {
    readonly method: string
    readonly path: string
    readonly headers: http.IncomingHttpHeaders
    readonly body: string
  }[]
  /** Sockets that were ever opened to it. */
  readonly connections: () => number
  readonly close: () => Promise<void>
}

export type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void

export const success = (text: string, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ success: true, text, fromInstance: 'worker', durationMs: 1, protocolVersion: 1, ...more })

export const failed = (errorCode: string, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ success: false, text: '', error: 'as told', errorCode, ...more })

export const json =
  (status: number, body: string, headers: http.OutgoingHttpHeaders = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }

/** Reads each request whole, then answers. */
export const httpStub = async (answer: Answer, host = '127.0.0.1', port = 0): Promise<Stub> => {
  const requests: Stub['requests'] = []
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      requests.push({ method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') })
      answer(request, response)
    })
  })
  return listening(server, requests, host, port)
}

/** Does what it likes with each socket. */
export const rawStub = async (serve: (socket: net.Socket) => void): Promise<Stub> =>
  listening(
    net.createServer(socket => {
      socket.on('error', () => undefined)
      serve(socket)
    }),
    [],
    '127.0.0.1',
    0,
  )

/** A port on which nobody listens any more. */
export const freePort = async (): Promise<number> => {
  const stub = await rawStub(() => undefined)
  await stub.close()
  return stub.port
}

const listening = async (server: net.Server, requests: Stub['requests'], host: string, port: number): Promise<Stub> => {
  const sockets = new Set<net.Socket>()
  let connections = 0
  server.on('connection', socket => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen({ host, port, ipv6Only: host.includes(':') })
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    connections: () => connections,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
