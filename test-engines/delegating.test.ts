import test, { type ExecutionContext } from 'ava'
import type { Access } from '../src/engine/engine.ts'
import { type Member, openHop } from './hop.ts'

/** One talk to the reviewer, and what stands in the books afterwards. */
const played = async (t: ExecutionContext, members: Readonly<Record<string, Member>>) => {
  const hop = await openHop(members)
  try {
    const talked = await hop.errand('talk', 'reviewer', '--json', 'Say hi <<ALPHA>>')
    t.log(talked.stdout.trim())
    const reply = JSON.parse(talked.stdout)
    const tree = JSON.parse((await hop.errand('log', '--json', reply.ext.turn)).stdout)
    const budgets = JSON.parse((await hop.errand('budget', '--json')).stdout)
    return { reply, tree, budgets }
  } finally {
    await hop.close()
  }
}

const worker: Member = { command: ['cat'], more: { peers: ['reviewer'] } }

test.serial('Claude Code delegates to Codex, and its answer comes back through both', async t => {
  const { reply, tree, budgets } = await played(t, {
    reviewer: { cli: 'claude', mode: 'delegates', more: { budget: { usd: 1 } } },
    worker: { cli: 'codex', mode: 'ok', more: { budget: { usd: 1 }, peers: ['reviewer'] } },
  })
  t.true(reply.success)
  t.regex(reply.text, /the other one said: model=gpt-5 marks=BETA /)
  t.like(tree, { instance: 'reviewer', depth: 1, outcome: 'success', costUsd: 0.00822 })
  t.like(tree.tree, [
    { instance: 'reviewer', parent: null, root: tree.turn, treeCostUsd: 0.01006 },
    { instance: 'worker', parent: tree.turn, root: tree.turn, depth: 2, engine: 'codex', costUsd: 0.00184 },
  ])
  t.like(budgets, [
    { instance: 'reviewer', spentUsd: 0.00822, turns: 1 },
    { instance: 'worker', spentUsd: 0.00184, turns: 1 },
  ])
})

const accesses: readonly (Access | undefined)[] = [undefined, 'read', 'write', 'full']

for (const cli of ['claude', 'codex'] as const) {
  for (const access of accesses) {
    test.serial(`${cli} delegates without a question, its access ${access ?? 'unset'}`, async t => {
      const { reply } = await played(t, {
        reviewer: { cli, mode: 'delegates', ...(access === undefined ? {} : { access }) },
        worker,
      })
      t.regex(reply.text, /^the other one said: (?:Wall time: .*\nOutput:)?Say hi <<BETA>>/)
    })
  }
}
