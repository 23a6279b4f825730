import { setTimeout as sleep } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Cost } from '../src/budget/budget.ts'
import { loadEngine } from '../src/engine/load.ts'
import { isRunning } from '../src/process/identity.ts'
import { processesWithMark } from '../src/process/mark.ts'
import { type CliName, packages } from './clis.ts'
import { answerOf, failureOf, type Ran, turn } from './turn.ts'

/** What 1200 and 34 tokens cost there. */
export interface Success {
  readonly cost: Cost
  readonly model: string
}

/** What each provider's CLI has to do. */
export const testCommon = (name: CliName, success: Success): void => {
  test('it is the version that the engine says it was checked against', async t => {
    const engine = await loadEngine(name, import.meta.dirname)()
    t.is(E.isRight(engine) && engine.right.checkedAgainst, packages[name][1])
  })

  test('an answer, and what it cost', async t => {
    const ran = await turn(t, name, { mode: 'ok' })
    t.true(answerOf(t, ran).startsWith(`model=${success.model} marks=ALPHA system=none`), answerOf(t, ran))
    t.deepEqual(ran.report.cost, success.cost)
    t.is(ran.report.tokens, 1234)
    t.is(ran.report.model, success.model)
    t.regex(ran.report.session ?? '', /^[\da-f-]{36}$/)
    await nothingIsLeft(t, ran)
  })

  test('prompts that look like flags or commands, and long ones, arrive whole', async t => {
    const long = `<<FIRST>> ${'a line of a long prompt\n'.repeat(9000)} <<LAST>>`
    for (const [prompt, marks] of [
      ['--help <<DASH>>', 'DASH'],
      ['-p <<P>>', 'P'],
      ['/help\n<<SLASH>>', 'SLASH'],
      [long, 'FIRST,LAST'],
    ] as const) {
      const answer = answerOf(t, await turn(t, name, { mode: 'ok', prompt }))
      t.true(answer.includes(`marks=${marks} `), answer)
      t.true(Number(/chars=(\d+)/.exec(answer)?.[1]) >= prompt.trim().length, answer)
    }
  })

  test('instructions reach the model, short ones and long ones', async t => {
    for (const instructions of ['-be "brief" instructed-short', `instructed-long ${'€'.repeat(60_000)}`]) {
      const answer = answerOf(t, await turn(t, name, { mode: 'ok', settings: { instructions } }))
      t.true(answer.includes(`system=${/instructed-(\w+)/.exec(instructions)?.[1]}`), answer)
    }
  })

  test('a refused key is `auth`, soon, and costs nothing', async t => {
    const ran = await turn(t, name, { mode: 'refuses' })
    t.is(failureOf(t, ran).code, 'auth', failureOf(t, ran).sentence)
    t.deepEqual(ran.report.cost, { microUsd: 0, basis: 'none' })
    t.true(ran.ms < 60_000)
    await nothingIsLeft(t, ran)
  })

  test('a provider that limits is `rate_limited`', async t => {
    const ran = await turn(t, name, { mode: 'limits' })
    t.is(failureOf(t, ran).code, 'rate_limited', failureOf(t, ran).sentence)
  })

  test('a timeout in mid-answer leaves nothing running', async t => {
    const ran = await turn(t, name, { mode: 'stalls', settings: { timeoutMs: stallMs } })
    // It had begun to answer; otherwise this would never resolve, and the test time out.
    await ran.model.begun
    t.is(failureOf(t, ran).code, 'timeout', failureOf(t, ran).sentence)
    t.is(ran.report.cost.basis, 'unknown')
    t.true(ran.ms >= stallMs && ran.ms < stallMs + 8000, `${ran.ms} ms`)
    await nothingIsLeft(t, ran)
  })
}

// Long enough for a CLI to start on a busy machine, and to begin its answer.
const stallMs = 10_000

const nothingIsLeft = async (t: ExecutionContext, { process, mark }: Ran): Promise<void> => {
  t.truthy(process)
  t.false(process !== undefined && isRunning(process))
  // What left the group by itself is swept a moment after the reply.
  const giveUpAt = performance.now() + 5000
  while (performance.now() < giveUpAt && (await processesWithMark([mark])).length > 0) await sleep(50)
  t.deepEqual(await processesWithMark([mark]), [])
}
