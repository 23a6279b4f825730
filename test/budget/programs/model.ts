// Random steps in the time zone of this process: SEED RUNS. Prints what holds, or the shortest sequence that does not.
import fc from 'fast-check'
import { agree } from '../agree.ts'
import { sequences } from '../steps.ts'

const [seed = '', runs = ''] = process.argv.slice(2)
const details = await fc.check(
  fc.asyncProperty(sequences, steps => agree(...steps)),
  {
    seed: Number(seed),
    numRuns: Number(runs),
    includeErrorInReport: true,
  },
)
const { failed, numRuns } = details
console.log(JSON.stringify(failed ? { failed: fc.defaultReportMessage(details) } : { numRuns }))
