// One instance works, another one judges, and it goes back until it passes: npx tsx examples/review-and-fix.ts
// The instances of budgets.json are small programs. Give them "engine": "claude" or "codex" there, and agents do the same.
import { launch, verify } from 'errand'

const bus = await launch('budgets.json')
const done = await verify(bus, {
  prompt:
    'Read the examples folder. Mend what you may, and report all that is left: file:line: kind: what, one on a line.',
  by: 'worker',
  judge: 'reviewer',
  criteria: 'nothing is left that must be fixed before a release',
  atMost: 3,
  budgetUsd: 0.5,
})
for (const { verdict, reason } of done.verdicts) console.log(`${verdict}: ${reason}`)
if (done.failure) console.log(`${done.failure.errorCode}: ${done.failure.error}`)
console.log(`${done.passed ? 'Passed' : 'Not passed'} for $${done.costUsd.toFixed(4)}.`)
await bus.stop()
