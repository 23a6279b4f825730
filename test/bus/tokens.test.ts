import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { authenticate, newTurn } from '../../src/bus/identity.ts'
import { randomOf } from '../budget/random.ts'
import { createBus, right, type TestBus } from '../fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../fixtures/http.ts'

const runningTurn = async ({ ledger, host }: TestBus, token = newTurn(), owner = host.owner) => {
  const { turn, tokenDigest } = token
  const chain = { turn, root: turn, instance: 'reviewer', from: 'operator', depth: 1, engine: 'command', owner }
  right(await ledger.enter({ ...chain, tokenDigest, limits: {}, maxTurnsPerRoot: 50 }, true)())
  return token
}

const mutated = (token: string, { below, pick }: ReturnType<typeof randomOf>): string => {
  const at = below(token.length)
  const other = pick([...'0123456789abcdef'].filter(digit => digit !== token[at]))
  return pick([
    () => token.slice(0, at) + other + token.slice(at + 1),
    () => token.slice(0, at) + token.slice(at + 1),
    () => token.slice(0, at) + other + token.slice(at),
    () => token.toUpperCase(),
    () => token.slice(at) + token.slice(0, at),
    () => `${token.slice(0, at)}\u0000${token.slice(at + 1)}`,
    () => `${token} ${token}`,
    () => newTurn().token,
  ])()
}

test('10,000 mutated, stolen and late tokens: none is accepted, and the true one still is', async t => {
  const bus = await createBus()
  const elsewhere = await createBus()
  const random = randomOf(5)
  const prove = authenticate(bus.host)
  const accepted = async (token: string) => E.isRight(await prove([`Bearer ${token}`])())

  const { token } = await runningTurn(bus)
  const stolen = await runningTurn(elsewhere)
  const late = await runningTurn(bus)
  const ending = await runningTurn(bus)
  const ofTheDead = await runningTurn(bus, newTurn(), 'a host that is gone')
  right(
    await bus.ledger.settle({ turn: late.turn, cost: { microUsd: 0, basis: 'none' }, tokens: 0, outcome: 'success' })(),
  )
  right(await bus.ledger.ending(ending.turn)())

  let wrongly = 0
  const bad = [stolen, late, ending, ofTheDead].map(one => one.token)
  for (let nth = 0; nth < 10_000; nth += 1) {
    const tried = nth % 4 === 3 ? random.pick(bad) : mutated(random.pick([token, ...bad]), random)
    if (tried !== token && (await accepted(tried))) wrongly += 1
  }
  t.is(wrongly, 0)
  t.true(await accepted(token))

  const { port } = await bus.serve('worker', {})
  for (const tried of [...bad, ...Array.from({ length: 100 }, () => mutated(token, random))].filter(
    one => one !== token && !one.includes('\u0000'),
  )) {
    const { json } = await send(port, {
      headers: jsonHeaders(tried),
      body: talkBody({ fromInstance: 'reviewer', depth: 2 }),
    })
    t.is(Reflect.get(Object(json), 'errorCode'), 'auth_failed', tried)
  }
  t.deepEqual(await bus.calls(), [])
  await elsewhere.close()
  await bus.close()
})

test('the CLI of a turn gets a token and not the secret, in none of its variables and arguments', async t => {
  const secret = 'canary-of-the-bus-secret-0123456789'
  const bus = await createBus({ secret, environment: { ...process.env, ERRAND_SECRET: secret } })
  const { port } = await bus.serve('worker', {
    settings: {
      cli: ['/bin/sh', '-c', 'env >&2; tr "\\0" " " < /proc/$$/cmdline >&2; env | tr "\\n" " "; exit 3', 'sh'],
    },
  })
  const { text } = await send(port, { headers: jsonHeaders(secret), body: talkBody() })
  t.regex(text, /engine_cli/)
  t.false(text.includes('canary-of-the-bus-secret'))
  await bus.close()
})
