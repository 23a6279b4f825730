import { Agent, request } from 'node:http'

// A process of its own, so that the sender does not compete with the answerer for one thread:
// node load.ts PORT REQUESTS AT_ONCE BEARER BODY. Prints requests per second.
const [port, requests, atOnce, bearer, body = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) })
const headers = {
  'Content-Type': 'application/json',
  'Content-Length': Buffer.byteLength(body),
  Authorization: `Bearer ${bearer}`,
}

const one = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/talk', method: 'POST', agent, headers }, answer => {
      answer.resume()
      answer.once('end', resolve)
    })
    sent.once('error', reject)
    sent.end(body)
  })

let left = Number(requests)
const sender = async (): Promise<void> => {
  while (left-- > 0) await one()
}
const startedAt = performance.now()
await Promise.all(Array.from({ length: Number(atOnce) }, sender))
console.log((Number(requests) / (performance.now() - startedAt)) * 1000)
agent.destroy()
