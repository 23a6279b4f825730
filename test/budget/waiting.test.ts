import test from 'ava'
import type { Limits } from '../../src/budget/budget.ts'
import type { Entered, Entry } from '../../src/budget/ledger.ts'
import { startChild } from '../store/child.ts'
import { left, right, testFolder } from '../store/folder.ts'
import { budget, charge, ended, entry, openDesk, usd } from './desk.ts'
import { randomOf } from './random.ts'

const child = (parent: Entry, turn: string, instance: string, limits: Limits = {}): Entry =>
  entry(turn, { root: parent.root, parent: parent.turn, instance, limits, depth: parent.depth + 1 })

test('a circle on instances of one turn at a time is answered at once', async t => {
  const { ledger } = await openDesk(t)
  const a = entry('a', { instance: 'A' })
  const b = child(a, 'b', 'B')
  await charge(ledger, entry('over', { instance: 'A' }), 0)
  right(await ledger.enter(a, true)())
  right(await ledger.enter(b, true)())
  const refusal = left(await ledger.enter(child(b, 'back', 'A'), false)())
  t.is(refusal.code, 'busy')
  t.true((refusal.retryAfterMs ?? 0) > 0)
  t.deepEqual(right(await ledger.children('b')()), [], 'no row is left')
  t.is(left(await ledger.enter(child(a, 'self', 'A'), false)()).code, 'busy')
})

test('two that ask each other: the first may wait, the second is answered at once; then the first runs', async t => {
  const folder = testFolder(t)
  const one = await openDesk(t, folder)
  const other = await openDesk(t, folder)
  const a = entry('a', { instance: 'A' })
  const b = entry('b', { instance: 'B' })
  right(await one.ledger.enter(a, true)())
  right(await other.ledger.enter(b, true)())
  t.deepEqual(right(await other.ledger.enter(child(a, 'a-to-b', 'B'), false)()), { state: 'waiting', for: 'slot' })
  t.is(left(await one.ledger.enter(child(b, 'b-to-a', 'A'), false)()).code, 'busy')
  right(await other.ledger.settle(ended('b', 0))())
  t.is(right(await other.ledger.hold(child(a, 'a-to-b', 'B'))()).state, 'running')
})

test('across processes too, whoever comes first', async t => {
  const folder = testFolder(t)
  const { ledger } = await openDesk(t, folder)
  right(await ledger.enter(entry('a', { instance: 'A' }), true)())
  right(await ledger.enter(entry('b', { instance: 'B' }), true)())
  const program = new URL('programs/ask.ts', import.meta.url)
  const asking = [startChild(t, program, [folder, 'a', 'B']), startChild(t, program, [folder, 'b', 'A'])]
  for (const process of asking) t.is(await process.line(), 'ready')
  for (const process of asking) process.say('go')
  const answers = [await asking[0]?.line(), await asking[1]?.line()]
  t.deepEqual(answers.toSorted(), ['busy', 'waiting'])
})

test('a talk may wait where a second turn of the instance is free to end', async t => {
  const { ledger } = await openDesk(t)
  const a = entry('a', { instance: 'A' })
  right(await ledger.enter(a, true)())
  const free = entry('free', { instance: 'A' })
  right(await ledger.enter(free, true)())
  await charge(ledger, child(free, 'over', 'C'), 0)
  const b = child(a, 'b', 'B')
  right(await ledger.enter(b, true)())
  t.deepEqual(right(await ledger.enter(child(b, 'back', 'A'), false)()), { state: 'waiting', for: 'slot' })
})

test('only who finds every slot taken is refused for those that hold them', async t => {
  const { ledger } = await openDesk(t)
  const a = entry('a', { instance: 'A' })
  right(await ledger.enter(a, true)())
  const b = child(a, 'b', 'B')
  right(await ledger.enter(b, true)())
  t.deepEqual(
    right(await ledger.enter(child(b, 'behind', 'A'), false, true)()),
    { state: 'waiting', for: 'slot' },
    'one is free, and others in line come first',
  )
  t.deepEqual(
    right(await ledger.enter(child(b, 'next', 'C'), false)()),
    { state: 'waiting', for: 'slot' },
    'nobody runs there: a slot that changes hands is free at once',
  )
  t.is(
    left(await ledger.enter(child(b, 'back', 'A'), false)()).sentence,
    'A is busy: every turn there waits for a talk of its own, so this one could wait without end.',
  )
})

test('who is refused what an asker holds is told which limit mends it', async t => {
  const hint = async (limits: Limits): Promise<string> => {
    const { ledger } = await openDesk(t)
    const a = entry('a', { instance: 'A', limits })
    right(await ledger.enter(a, true)())
    return left(await ledger.enter(child(a, 'b', 'A', limits), true)()).sentence
  }
  const why = 'is held by turns that wait for talks of their own, so this one could wait without end.'
  const per = 'total'
  t.is(await hint({ budget: { microUsd: usd(1), per } }), `The budget of A ${why} Give it a smaller maxTurnUsd.`)
  t.is(await hint({ budget: { tokens: 9, per } }), `The budget of A ${why} Give it a smaller maxTurnTokens.`)
  t.is(
    await hint({ total: { tokens: 9, per } }),
    `The budget of all instances ${why} Give its instances a smaller maxTurnTokens.`,
  )
  t.is(await hint({ budget: { turns: 1, per } }), `The budget of A ${why}`)
})

test('a talk from outside may wait for whatever', async t => {
  const { ledger } = await openDesk(t)
  const a = entry('a', { instance: 'A' })
  right(await ledger.enter(a, true)())
  right(await ledger.enter(child(a, 'b', 'B'), true)())
  t.is(right(await ledger.enter(entry('c', { instance: 'A' }), false)()).state, 'waiting')
})

test('money that only the askers hold is not waited for', async t => {
  const { ledger } = await openDesk(t)
  const limits = { total: { microUsd: usd(1), per: 'day' } } as const
  const a = entry('a', { instance: 'A', limits })
  t.deepEqual(right(await ledger.enter(a, true)()), { state: 'running', allowance: { microUsd: usd(1) } })
  const refusal = left(await ledger.enter(child(a, 'b', 'B', limits), true)())
  t.is(refusal.code, 'busy')
  t.regex(refusal.sentence, /^The budget of all instances is held .* Give its instances a smaller maxTurnUsd\.$/)
  t.deepEqual(right(await ledger.children('a')()), [])

  const capped = { ...limits, maxTurnMicroUsd: usd(0.5) }
  const other = await openDesk(t)
  const c = entry('c', { instance: 'A', limits: capped })
  right(await other.ledger.enter(c, true)())
  right(await other.ledger.enter(entry('free', { instance: 'C', limits: capped }), true)())
  const d = child(c, 'd', 'B', capped)
  t.deepEqual(right(await other.ledger.enter(d, true)()), { state: 'waiting', for: 'money' })
  right(await other.ledger.settle(ended('free', usd(0.1)))())
  t.is(right(await other.ledger.hold(d)()).state, 'running')
})

test('a turn that holds none of what is scarce, or held it in another month, gives nothing back to wait for', async t => {
  const tokens = { total: { tokens: 10, per: 'total' } } as const
  const { ledger } = await openDesk(t)
  const a = entry('a', { instance: 'A', limits: tokens })
  right(await ledger.enter(entry('unlimited', { instance: 'C' }), true)())
  right(await ledger.enter(entry('none', { instance: 'C', limits: { ...tokens, maxTurnTokens: 0 } }), true)())
  right(await ledger.enter(a, true)())
  t.is(left(await ledger.enter(child(a, 'b', 'B', tokens), true)()).code, 'busy')

  for (const per of ['day', 'month'] as const) {
    const money = { total: { microUsd: usd(1), per } } as const
    const { ledger, clock } = await openDesk(t)
    right(await ledger.enter(entry('before', { instance: 'C', limits: money }), true)())
    clock.nowMs += 31 * 24 * 60 * 60 * 1000
    right(await ledger.enter(entry('none', { instance: 'C', limits: { ...money, maxTurnMicroUsd: 0 } }), true)())
    const c = entry('c', { instance: 'A', limits: money })
    right(await ledger.enter(c, true)())
    t.is(left(await ledger.enter(child(c, 'd', 'B', money), true)()).code, 'busy', per)
  }
})

test('one that got its slot finds the money held by those who wait for it: busy, and no row', async t => {
  const { ledger } = await openDesk(t)
  const limits = budget({}, { total: { microUsd: usd(1), per: 'total' }, maxTurnMicroUsd: usd(0.5) })
  const a = entry('a', { instance: 'A', limits })
  right(await ledger.enter(a, true)())
  right(await ledger.enter(entry('first', { instance: 'B' }), true)())
  const b = child(a, 'b', 'B', limits)
  t.deepEqual(right(await ledger.enter(b, false)()), { state: 'waiting', for: 'slot' })
  const c = entry('c', { instance: 'C', limits })
  right(await ledger.enter(c, true)())
  t.is(left(await ledger.enter(child(c, 'd', 'B', limits), false)()).code, 'busy')
  right(await ledger.enter(child(c, 'e', 'E'), true)())
  right(await ledger.settle(ended('first', 0))())
  t.is(left(await ledger.hold(b)()).code, 'busy')
  t.deepEqual(right(await ledger.children('a')()), [])
})

test('held money of another day is not waited for, nor does it stand in the way', async t => {
  const { ledger, clock } = await openDesk(t)
  const limits = { total: { microUsd: usd(1), per: 'day' } } as const
  const a = entry('a', { instance: 'A', limits })
  right(await ledger.enter(a, true)())
  clock.nowMs += 24 * 60 * 60 * 1000
  t.is(right(await ledger.enter(child(a, 'b', 'B', limits), true)()).state, 'running')
})

// Whatever is asked of whom, some turn can always go on: one that runs and waits for no talk of its own.
for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`random talks never end in a circle (seed ${seed})`, async t => {
    const { below, pick } = randomOf(seed)
    const { ledger } = await openDesk(t)
    const names = ['A', 'B', 'C', 'D'] as const
    const concurrency: Readonly<Record<string, number>> = { A: 1, B: 1, C: 2, D: 3 }
    const limitsOf = (name: string): Limits => ({
      maxTurnMicroUsd: usd(0.5),
      total: { microUsd: usd(2), per: 'total' },
      ...(name === 'D' ? { budget: { microUsd: usd(1), per: 'total' } } : {}),
    })
    const running = new Map<string, Entry>()
    const waiting: Entry[] = []
    const openChild = (turn: string) => [...running.values(), ...waiting].some(({ parent }) => parent === turn)
    const slotFree = (name: string) =>
      [...running.values()].filter(({ instance }) => instance === name).length < (concurrency[name] ?? 0) &&
      !waiting.some(({ instance }) => instance === name)
    const leaves = () => [...running.values()].filter(({ turn }) => !openChild(turn))
    let busy = 0
    let made = 0

    const note = (one: Entry, entered: Entered): void => {
      if (entered.state === 'running') running.set(one.turn, one)
      else waiting.push(one)
    }
    const ask = async (parent: Entry | undefined): Promise<void> => {
      made += 1
      const name = pick(names)
      const turn = `t${made}`
      const asked = parent
        ? { ...child(parent, turn, name, limitsOf(name)), maxTurnsPerRoot: 1000 }
        : entry(turn, { instance: name, limits: limitsOf(name) })
      const entered = await ledger.enter(asked, slotFree(name))()
      if (entered._tag === 'Right') return note(asked, entered.right)
      t.is(entered.left.code, 'busy')
      busy += 1
    }
    /** Whether the line has moved. */
    const retryFirst = async (name: string): Promise<boolean> => {
      const first = waiting.find(({ instance }) => instance === name)
      const full = [...running.values()].filter(({ instance }) => instance === name).length >= (concurrency[name] ?? 0)
      if (first === undefined || full) return false
      const entered = await ledger.hold(first)()
      if (entered._tag === 'Right' && entered.right.state === 'waiting') return false
      waiting.splice(waiting.indexOf(first), 1)
      if (entered._tag === 'Right') note(first, entered.right)
      else {
        t.is(entered.left.code, 'busy')
        busy += 1
      }
      return true
    }
    const end = async (one: Entry): Promise<void> => {
      running.delete(one.turn)
      right(await ledger.settle(ended(one.turn, 0, 'none'))())
      for (const name of names) while (await retryFirst(name));
    }

    for (let step = 0; step < 250; step += 1) {
      const free = leaves()
      if (free.length === 0) t.is(running.size + waiting.length, 0, `stuck at step ${step}`)
      const dice = below(10)
      if (dice < 3 || free.length === 0) await ask(undefined)
      else if (dice < 7) await ask(pick(free))
      else await end(pick(free))
    }
    while (running.size + waiting.length > 0) {
      const [free] = leaves()
      if (free === undefined) return t.fail(`stuck at the end: ${waiting.map(({ turn }) => turn)}`)
      await end(free)
    }
    t.true(busy > 0, 'circles were tried')
    t.true(made > 50)
  })
}
