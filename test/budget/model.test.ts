import test from 'ava'
import { startChild } from '../store/child.ts'

// Days of 23, 25, 23½ and 24½ hours, days that begin at one o'clock, and one that never was.
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'Asia/Beirut',
  'Pacific/Apia',
  'Asia/Kathmandu',
]

for (const [at, zone] of zones.entries()) {
  test(`random steps against a plain model (${zone})`, async t => {
    const told = await startChild(t, new URL('programs/model.ts', import.meta.url), [String(at + 1), '10'], {
      TZ: zone,
    }).line()
    t.deepEqual(JSON.parse(told), { numRuns: 10 })
  })
}
