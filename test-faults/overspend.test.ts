import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { createBus, type InstanceWish } from '../test/fixtures/bus.ts'
import { jsonHeaders, send, talkBody } from '../test/fixtures/http.ts'
import { spentMicroUsd } from '../test/fixtures/money.ts'

const init = '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}'
// A million input tokens of this model: $3.
const dear =
  '{"type":"assistant","session_id":"s","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"on it"}],"usage":{"input_tokens":1000000,"output_tokens":0}}}'
const crosses = `echo '${init}'; date +%s%3N > crossed; echo '${dear}'`

// What the CLI does once it has spent more than its turn may.
const afterwards: Readonly<Record<string, string>> = {
  hangs: 'exec sleep 600',
  'ignores TERM': `trap '' TERM INT HUP; while :; do sleep 0.1; done`,
  'hangs with children that hold its pipes': 'sleep 600 & sleep 600 & wait',
  'has children that left its group and ignore TERM': `setsid sh -c "trap '' TERM; sleep 600" & wait`,
  'babbles on': `while :; do echo '${dear}'; sleep 0.05; done`,
  'stops itself': 'kill -STOP $$',
}

for (const [what, then] of Object.entries(afterwards)) {
  test(`a turn that crosses its hold and then ${what} is ended within 2 s, and charged what was seen`, async t => {
    const bus = await createBus()
    const limits = { budget: { microUsd: 10_000_000, per: 'total' }, maxTurnMicroUsd: 100_000 } as const
    const wish: InstanceWish = {
      limits,
      settings: { cli: ['/bin/sh', '-c', `${crosses}; ${then}`, 'agent'], graceMs: 5000 },
    }
    const { port } = await bus.serve('worker', wish)
    const { json } = await send(port, { headers: jsonHeaders(), body: talkBody() })
    const afterMs = Date.now() - Number(await readFile(join(bus.folder, 'crossed'), 'utf8'))
    t.is(Reflect.get(Object(json), 'errorCode'), 'budget_exhausted')
    t.log(`${afterMs} ms`)
    t.true(afterMs < 2000, `${afterMs} ms`)
    t.true((await spentMicroUsd(bus, 'worker')) >= 3_000_000)
    await bus.close()
  })
}
