import { createServer } from 'node:net'
import type * as T from 'fp-ts/lib/Task.js'
import { type Failure, failure } from '../protocol/failure.ts'
import type { InstanceConfig } from './config.ts'

/** Which of the ports that budgets.json asks for cannot be had. Each is tried and given back at once. */
export const checkPorts =
  (wanted: readonly InstanceConfig[]): T.Task<readonly Failure[]> =>
  async () => {
    const tried = await Promise.all(wanted.filter(({ port }) => port !== 0).map(tryPort))
    return tried.flatMap(failed => (failed === undefined ? [] : [failed]))
  }

const tryPort = ({ name, port }: InstanceConfig): Promise<Failure | undefined> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(failure('instance_unavailable', `Port ${port} of instance ${name} ${whyNot(error)}.`)),
    )
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })

const whyNot = ({ code, message }: NodeJS.ErrnoException): string => {
  if (code === 'EADDRINUSE') return 'is taken by another program; choose another "port", or 0 for any'
  if (code === 'EACCES') return 'is reserved for the system; choose one above 1023, or 0 for any'
  return `cannot be used: ${message}`
}
