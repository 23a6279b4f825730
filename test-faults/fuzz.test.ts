import test from 'ava'
import * as t from 'io-ts/lib/index.js'
import { randomOf } from '../test/budget/random.ts'
import { placeOf, shell } from '../test/cli/errand.ts'
import { times } from './counts.ts'
import { requestOf } from './fuzz.ts'
import { memoryMiB, openDescriptors, until } from './measure.ts'
import { rawClient } from './raw-client.ts'
import { up } from './up.ts'

const failureEnvelope = t.type({
  success: t.literal(false),
  error: t.string,
  errorCode: t.string,
  retryable: t.boolean,
})
const health = t.type({ status: t.literal('ok'), kind: t.literal('errand') })

const bodyOf = (answer: string): unknown => {
  try {
    return JSON.parse(Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'latin1').toString())
  } catch {
    return undefined
  }
}

test(`${times(100_000)} torn bodies and headers: each is answered with an envelope, nothing runs, and the memory is flat`, async x => {
  // What is sound is refused for money.
  const place = placeOf(x, { worker: shell('touch ran; cat', { budget: { usd: 0 } }) })
  // With a heap that leaves no room for a leak; V8 else lets it grow to several times of what lives, as long as there is memory.
  const bus = await up(x, place, ['worker'], ['--max-semi-space-size=8', '--max-old-space-size=64'])
  const port = bus.ports['worker'] ?? 0
  const count = times(100_000)
  const strange: string[] = []
  const codes: Record<string, number> = {}
  let next = 0
  let afterSome: { readonly memory: number; readonly descriptors: number } | undefined

  const lane = async (): Promise<void> => {
    const client = rawClient(port)
    while (next < count) {
      const nth = next++
      const request = requestOf(randomOf(nth), bus.secret)
      const answer = await client.ask(request)
      const body = bodyOf(answer)
      const isSound = answer.startsWith('HTTP/1.1 ') && (failureEnvelope.is(body) || health.is(body))
      const code = failureEnvelope.is(body) ? body.errorCode : isSound ? 'health' : 'none'
      codes[code] = (codes[code] ?? 0) + 1
      if (!isSound && strange.length < 5)
        strange.push(
          `${nth}: ${JSON.stringify(request.toString('latin1')).slice(0, 600)} → ${JSON.stringify(answer).slice(0, 300)}`,
        )
      if (nth === Math.floor(count / 5))
        afterSome = { memory: memoryMiB(bus.pid), descriptors: openDescriptors(bus.pid) }
    }
    client.close()
  }
  const descriptors = openDescriptors(bus.pid)
  await Promise.all(Array.from({ length: 8 }, lane))
  x.deepEqual(strange, [])
  x.is(bus.child.exitCode, null)
  const memory = memoryMiB(bus.pid)
  await until(
    'the descriptors are those of before',
    () => Math.abs(openDescriptors(bus.pid) - descriptors) <= 2,
    15_000,
  )
  x.log(
    JSON.stringify(codes),
    `memory after a fifth ${afterSome?.memory.toFixed(0)} MiB, at the end ${memory.toFixed(0)} MiB`,
  )
  x.true(memory <= 1.2 * (afterSome?.memory ?? 0))
  x.throws(() => place.read('ran'))
  x.is(bus.said().match(/\bbug\b/), null)
})
