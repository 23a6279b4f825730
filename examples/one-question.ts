// Several instances from one script: npx tsx examples/one-question.ts
import { launch } from 'errand'

const bus = await launch('budgets.json')
const reply = await bus.talk('worker', 'Please survey the examples folder', { from: 'reviewer' })
console.log(reply.success ? reply.text : `${reply.errorCode}: ${reply.error}`)
await bus.stop()
