import test from 'ava'
import { rootState } from '../../src/budget/roots.ts'
import { turnTree } from '../../src/budget/turns.ts'
import { fanAt } from '../../src/work/fan.ts'
import type { StepEvent } from '../../src/work/options.ts'
import { right, until } from '../launch/world.ts'
import { answers, openDesk } from './desk.ts'

const same = (prompt: string, ...to: readonly string[]) => to.map(one => ({ to: one, prompt }))

test('every branch keeps its envelope in order, and one that fails is a failure of that branch alone', async t => {
  const { site, state } = await openDesk(t, {
    a: answers('a', 'pay(0.01); return "A " + prompt'),
    b: answers('b', 'process.stderr.write("no disk"); process.exit(3)'),
    c: answers('c', 'pay(0.02); return "C " + prompt'),
  })
  const steps: StepEvent[] = []
  const fanned = await fanAt(site, same('hi', 'c', 'b', 'a', 'nobody'), { onStep: step => steps.push(step) })()
  t.true(fanned.success)
  t.is(fanned.failure, undefined)
  t.deepEqual(
    fanned.branches.map(({ to, envelope }) => [to, envelope.success ? envelope.text : envelope.errorCode]),
    [
      ['c', 'C hi'],
      ['b', 'engine_cli'],
      ['a', 'A hi'],
      ['nobody', 'invalid_request'],
    ],
  )
  t.is(fanned.costUsd, 0.03)
  const tree = await right(turnTree(state.store, fanned.root ?? ''))
  t.deepEqual(tree.map(({ instance, depth, parent }) => [instance, depth, parent]).sort(), [
    ['a', 1, undefined],
    ['b', 1, undefined],
    ['c', 1, undefined],
  ])
  t.is(steps.filter(({ kind }) => kind === 'asked').length, 4)
  t.is(steps.filter(({ kind }) => kind === 'answered').length, 4)
  const none = await fanAt(site, same('hi', 'b', 'nobody'), {})()
  t.false(none.success)
  t.is(none.failure?.errorCode, 'engine_cli')
})

test('20 branches at once on $1.00, $0.10 each: exactly 10 run, and none is oversold', async t => {
  const { site, state, world } = await openDesk(t, {
    worker: answers('worker', 'pay(0.1); return "done"', { maxTurnUsd: 0.1, concurrency: 20 }),
  })
  const branches = Array.from({ length: 20 }, (_, at) => ({ to: 'worker', prompt: `part ${at}` }))
  const fanned = await fanAt(site, branches, { budgetUsd: 1, atOnce: 20 })()
  const codes = fanned.branches.map(({ envelope }) => (envelope.success ? 'success' : envelope.errorCode))
  t.is(codes.filter(code => code === 'success').length, 10)
  t.is(codes.filter(code => code === 'budget_exhausted').length, 10)
  t.is(fanned.costUsd, 1)
  t.like(await right(rootState(state.store, fanned.root ?? '')), { spentMicroUsd: 1_000_000, heldMicroUsd: 0 })
  const refused = fanned.branches.find(({ envelope }) => !envelope.success)?.envelope
  t.regex(
    refused?.success === false ? refused.error : '',
    /^Budget exhausted: \$1\.0000 used of \$1\.00\. It is the budget of this piece of work \(\$1\.00\)\.$/,
  )
  const { readFile } = await import('node:fs/promises')
  t.is((await readFile(`${world.folder}/worker.calls`, 'utf8')).trim().split('\n').length, 10)
})

test('what branches delegate is charged to the same budget, and stands in the same tree', async t => {
  const asks = `const { execFileSync } = require('child_process')
    pay(0.01)
    return execFileSync('errand', ['talk', 'helper', prompt], { encoding: 'utf8' })`
  const { site, state } = await openDesk(t, {
    lead: answers('lead', asks, { maxTurnUsd: 0.05, concurrency: 2 }),
    helper: answers('helper', 'pay(0.02); return "helped " + prompt', {
      maxTurnUsd: 0.05,
      peers: ['lead'],
      concurrency: 2,
    }),
  })
  const fanned = await fanAt(site, same('x', 'lead', 'lead'), { budgetUsd: 1 })()
  t.deepEqual(
    fanned.branches.map(({ envelope }) => envelope.text.trim()),
    ['helped x', 'helped x'],
  )
  t.is(fanned.costUsd, 0.06)
  const tree = await right(turnTree(state.store, fanned.root ?? ''))
  t.deepEqual(tree.map(({ instance, depth }) => `${instance} ${depth}`).sort(), [
    'helper 2',
    'helper 2',
    'lead 1',
    'lead 1',
  ])
  // A second piece within the first has what is left of it, and one talk too many is refused.
  const within = await fanAt(site, same('y', 'helper'), { budgetUsd: 0.06, within: fanned })()
  t.is(within.root, fanned.root)
  t.is(within.failure?.errorCode, 'budget_exhausted')
})

test('no more than so many are asked at once', async t => {
  const { site } = await openDesk(t, { worker: answers('worker', 'return prompt', { concurrency: 9 }) })
  let open = 0
  let most = 0
  const onStep = ({ kind }: StepEvent) => {
    open += kind === 'asked' ? 1 : -1
    most = Math.max(most, open)
  }
  const branches = Array.from({ length: 7 }, (_, at) => ({ to: 'worker', prompt: `p${at}` }))
  const fanned = await fanAt(site, branches, { atOnce: 2, onStep })()
  t.is(most, 2)
  t.deepEqual(
    fanned.branches.map(({ envelope }) => envelope.text),
    branches.map(({ prompt }) => prompt),
  )
})

test('a signal ends what runs, and what was not asked yet never is', async t => {
  const { site, world } = await openDesk(t, {
    slow: answers('slow', 'await new Promise(resolve => setTimeout(resolve, 600000))'),
  })
  const controller = new AbortController()
  const working = fanAt(site, same('x', 'slow', 'slow', 'slow'), { atOnce: 2, signal: controller.signal })()
  const { existsSync } = await import('node:fs')
  await until(() => existsSync(`${world.folder}/slow.calls`))
  controller.abort()
  const { success, branches } = await working
  t.false(success)
  t.deepEqual(
    branches.map(({ envelope }) => !envelope.success && envelope.errorCode),
    ['cancelled', 'cancelled', 'cancelled'],
  )
  t.is(branches[2]?.envelope.ext?.turn, undefined)
})

test('its time over, what runs is ended and what comes after is not asked', async t => {
  const { site } = await openDesk(t, {
    slow: answers('slow', 'await new Promise(resolve => setTimeout(resolve, 600000))'),
  })
  const { branches } = await fanAt(site, same('x', 'slow', 'slow'), { atOnce: 1, timeoutMs: 3000 })()
  t.deepEqual(
    branches.map(({ envelope }) => !envelope.success && envelope.errorCode),
    ['timeout', 'timeout'],
  )
  t.regex(JSON.stringify(branches[1]?.envelope), /time of this piece of work, 3 s, was over/)
})
