// Three questions at once, and one judge over the answers: npx tsx examples/fan-out-and-judge.ts
// The instances of budgets.json are small programs. Give them "engine": "claude" or "codex" there, and agents do the same.
import { chain, fan, launch } from 'errand'

const bus = await launch('budgets.json')
const folders = ['bin', 'docs', 'examples']
const surveys = await fan(bus, {
  prompts: folders.map(folder => `Please survey the ${folder} folder`),
  to: 'worker',
  budgetUsd: 1,
})
for (const [at, { envelope }] of surveys.branches.entries()) {
  console.log(`${folders[at]}: ${envelope.success ? envelope.text.split('\n')[0] : envelope.error}`)
}

const answers = surveys.branches.flatMap(({ envelope }) => (envelope.success ? [envelope.text] : []))
const judged = await chain(bus, {
  steps: [{ to: 'reviewer', prompt: `What should be done first, by these reports?\n\n${answers.join('\n\n')}` }],
  within: surveys, // the same budget, and the same tree in `errand log`
})
console.log(judged.success ? judged.text : judged.failure?.error)
console.log(`All of it: $${judged.costUsd.toFixed(4)}; errand log ${judged.root}`)
await bus.stop()
