import { launch } from '../src/index.ts'

// node launch-many.ts BUDGETS_JSON: prints {"ms","rssBytes"} of a process that launched all of its instances.
const startedAt = performance.now()
const bus = await launch(process.argv[2] ?? '')
const ms = performance.now() - startedAt
globalThis.gc?.()
console.log(JSON.stringify({ ms, rssBytes: process.memoryUsage.rss(), instances: bus.instances.length }))
await bus.stop()
