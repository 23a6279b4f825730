// Look, judge, look closer: each gets the answer of the one before it: npx tsx examples/research-chain.ts
// Run it again, or after it was interrupted: what was answered is taken from its record, and costs nothing.
// The instances of budgets.json are small programs. Give them "engine": "claude" or "codex" there, and agents do the same.
import { chain, launch } from 'errand'

const bus = await launch('budgets.json')
const research = await chain(bus, {
  steps: [
    { to: 'worker', prompt: 'Please survey the examples folder' },
    { to: 'reviewer', prompt: 'Which of these findings matter, and why?' },
    { to: 'worker', prompt: review => `Look closer at the files that this names:\n\n${review}` },
  ],
  workflow: 'research',
  budgetUsd: 0.5,
  onStep: step => {
    if (step.kind === 'answered') console.log(`${step.step}. ${step.to}${step.kept ? ' (kept)' : ''}`)
  },
})
console.log(research.success ? research.text : research.failure?.error)
await bus.stop()
