import test from 'ava'
import { errand, placeOf, shell } from './errand.ts'

test('four shells at once, each of which launches what it asks: the budget is sold once', async t => {
  const place = placeOf(t, {
    worker: shell('cat', { budget: { usd: 0.3 }, maxTurnUsd: 0.1, price: { perTurn: 0.1 }, concurrency: 4 }),
  })
  const shells = Array.from({ length: 4 }, async (_, at) => {
    const statuses: (number | null)[] = []
    for (const nth of [1, 2]) statuses.push((await errand(place, ['talk', 'worker', `${at} ${nth}`])).status)
    return statuses
  })
  const statuses = (await Promise.all(shells)).flat()
  t.deepEqual(statuses.toSorted(), [0, 0, 0, 77, 77, 77, 77, 77])
  const [worker] = JSON.parse((await errand(place, ['budget', '--json'])).stdout)
  t.like(worker, { spentUsd: 0.3, heldUsd: 0, turns: 3 })
})
