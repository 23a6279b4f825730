import { fileURLToPath } from 'node:url'
import type { ExecutionContext } from 'ava'
import type { Host } from '../../src/bus/host.ts'
import type { Served } from '../../src/bus/server.ts'
import { type ErrorCode, factsOf } from '../../src/protocol/error-codes.ts'
import { createBus, type InstanceWish, type TestBus } from '../fixtures/bus.ts'
import { type Answer, jsonHeaders, send, talkBody } from '../fixtures/http.ts'
import { spentMicroUsd } from '../fixtures/money.ts'

/** One talk with an instance whose CLI is a fake. */
export interface Asked {
  /** A file of the fakes. */
  readonly fake: string
  /** What the fake is told by its environment. */
  readonly knobs?: Readonly<Record<string, string>>
  readonly wish?: InstanceWish
  readonly body?: Readonly<Record<string, unknown>>
}

/** What has to come of it. */
export interface Outcome {
  /** The answer: success. */
  readonly text?: string
  readonly code?: ErrorCode
  /** What the sentence says. */
  readonly says?: RegExp
  /** What the ledger is charged. */
  readonly microUsd: number
  readonly basis: 'none' | 'reported' | 'priced' | 'unknown'
}

/** A bus for the time of a test. */
export const withBus = async (
  play: (bus: TestBus) => Promise<void>,
  environment?: Host['environment'],
): Promise<void> => {
  const bus = await createBus(environment === undefined ? {} : { environment })
  try {
    await play(bus)
  } finally {
    await bus.close()
  }
}

/** The command of a fake, which finds its knobs in its environment. */
export const fakeCli = (fake: string, knobs: Readonly<Record<string, string>> = {}): readonly string[] => [
  'env',
  ...Object.entries(knobs).map(([name, value]) => `${name}=${value}`),
  process.execPath,
  fileURLToPath(new URL(`../fixtures/fakes/${fake}.mjs`, import.meta.url)),
]

export const serveFake = (
  bus: TestBus,
  name: string,
  { fake, knobs, wish = {} }: Omit<Asked, 'body'>,
): Promise<Served> => bus.serve(name, { ...wish, settings: { cli: fakeCli(fake, knobs), ...wish.settings } })

export const ask = ({ port }: Pick<Served, 'port'>, body: Readonly<Record<string, unknown>> = {}): Promise<Answer> =>
  send(port, { headers: jsonHeaders(), body: talkBody(body) })

/** Asks, and holds the envelope and the ledger to what has to come of it. */
export const comesTo = async (t: ExecutionContext, asked: Asked, expected: Outcome): Promise<void> => {
  await withBus(async bus => {
    const served = await serveFake(bus, 'worker', asked)
    const { json, text } = await ask(served, asked.body)
    const what = `${asked.fake} ${JSON.stringify(asked.knobs ?? {})}: ${text.slice(0, 500)}`
    if (expected.code === undefined) t.like(json, { success: true, text: expected.text, fromInstance: 'worker' }, what)
    else {
      const { retryable } = factsOf(expected.code)
      t.like(json, { success: false, text: '', errorCode: expected.code, retryable, fromInstance: 'worker' }, what)
      t.regex(String(Reflect.get(Object(json), 'error')), expected.says ?? /./, what)
      t.true(Buffer.byteLength(String(Reflect.get(Object(json), 'error'))) <= 2048)
    }
    t.like(json, { ext: { basis: expected.basis } }, what)
    t.is(await spentMicroUsd(bus, 'worker'), expected.microUsd, what)
  })
}
