import { once } from 'node:events'
import test from 'ava'
import { callersOf } from '../../src/bus/callers.ts'

const long = 600_000

/** The patience of a bus keeps no process alive, so the test does. */
const aborts = async (signal: AbortSignal): Promise<void> => {
  const alive = setInterval(() => undefined, 1000)
  await once(signal, 'abort')
  clearInterval(alive)
}

const caller = () => {
  const controller = new AbortController()
  return { hungUp: controller.signal, leaves: () => controller.abort() }
}

test('who knows that nobody comes back does not wait for anybody', async t => {
  const { join, allGone } = callersOf(long, async () => false)
  const [one, other] = [caller(), caller()]
  join(one)
  join(other)
  one.leaves()
  await new Promise(setImmediate)
  t.false(allGone.aborted)
  other.leaves()
  await aborts(allGone)
  t.pass()
})

test('it is looked again and again whether somebody may come back', async t => {
  let looks = 0
  const { join, allGone } = callersOf(long, async () => ++looks < 3)
  const one = caller()
  join(one)
  one.leaves()
  await aborts(allGone)
  t.is(looks, 3)
})

test('one that comes back before it is known that nobody does is waited for', async t => {
  const answer = Promise.withResolvers<boolean>()
  const { join, allGone } = callersOf(long, () => answer.promise)
  const one = caller()
  join(one)
  one.leaves()
  join(caller())
  answer.resolve(false)
  await new Promise(setImmediate)
  t.false(allGone.aborted)
})

test('who was gone before it joined counts as gone', async t => {
  const { join, allGone } = callersOf(1, async () => true)
  const one = caller()
  one.leaves()
  join(one)
  await aborts(allGone)
  t.pass()
})

test('once it was answered, nobody is looked for any more', async t => {
  let looks = 0
  const { join, allGone, end } = callersOf(1, async () => {
    looks += 1
    return false
  })
  const one = caller()
  join(one)
  end()
  one.leaves()
  await new Promise(resolve => setTimeout(resolve, 20))
  t.false(allGone.aborted)
  t.is(looks, 0)
})
