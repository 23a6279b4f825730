import { readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'ava'
import * as t from 'io-ts/lib/index.js'
import { processesWithMark } from '../src/process/mark.ts'
import { countColumn, integerColumn, textColumn } from '../src/store/columns.ts'
import { openStore } from '../src/store/open-store.ts'
import { randomOf } from '../test/budget/random.ts'
import { placeOf, shell, stateFile } from '../test/cli/errand.ts'
import { right } from '../test/store/folder.ts'
import { times } from './counts.ts'
import { until } from './measure.ts'
import { talkTo, type Up, up } from './up.ts'

// One in nine ignores TERM and leaves something behind that left its group.
const agent = `
  prompt=$(cat); echo "$ERRAND_TURN $prompt" >> starts; echo '{"usd":0.01}' >> "$ERRAND_REPORT"
  case $prompt in *hang*) trap '' TERM; setsid sleep 600 & sleep 600;; esac
  echo '{"usd":0.02}' >> "$ERRAND_REPORT"; echo "$prompt"`

const envelope = t.intersection([
  t.type({ success: t.boolean }),
  t.partial({ errorCode: t.string, ext: t.partial({ turn: t.string, costUsd: t.number }) }),
])
const turnRow = t.intersection([
  t.type({ turn: textColumn, state: textColumn }),
  t.partial({ outcome: textColumn, costMicroUsd: countColumn }),
])
const sums = t.type({ scope: textColumn, window: textColumn, spentMicroUsd: countColumn, heldMicroUsd: integerColumn })

test(`${times(20)} kills of a whole bus: no hold stays, no answer is forgotten, nothing runs twice, orphans end within 5 s`, async x => {
  const { below } = randomOf(7)
  const place = placeOf(x, { worker: shell(agent, { budget: { usd: 100 }, maxTurnUsd: 0.1, concurrency: 3 }) })
  const answered = new Map<string, t.TypeOf<typeof envelope>>()
  const keyed: string[] = []
  let asked = 0
  let answers = 0

  const client = async (bus: Up): Promise<void> => {
    for (;;) {
      asked += 1
      const prompt = `p${asked}${asked % 9 === 0 ? ' hang' : ''}`
      const hasKey = asked % 2 === 0
      if (hasKey) keyed.push(prompt)
      const headers: Record<string, string> = hasKey ? { 'Idempotency-Key': encodeURI(prompt) } : {}
      const answer = await talkTo(bus, 'worker', prompt, headers).catch(() => undefined)
      if (answer === undefined) return
      answers += 1
      if (envelope.is(answer.json)) answered.set(prompt, answer.json)
    }
  }
  const starts = (): readonly (readonly [turn: string, prompt: string])[] => {
    const lines = readFileSync(path.join(place.folder, 'starts'), 'utf8').split('\n').slice(0, -1)
    return lines.map(line => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)])
  }

  let bus = await up(x, place, ['worker'])
  const store = right(await openStore(path.dirname(stateFile(place, 'secret')))())
  x.teardown(() => store.close())
  const rows = async () =>
    new Map(
      right(await store.read(sql => sql.all(turnRow, 'SELECT turn, state, outcome, costMicroUsd FROM turns'))()).map(
        row => [row.turn, row],
      ),
    )

  for (let nth = 0; nth < times(20); nth += 1) {
    const enough = answers + 1 + below(12)
    const clients = Promise.all(Array.from({ length: 6 }, () => client(bus)))
    // Two hanging talks among six clients: the others go on meanwhile.
    await Promise.race([until('answers', () => answers >= enough, 5000).catch(() => undefined), clients])
    await new Promise(resolve => setTimeout(resolve, below(80)))
    await bus.kill('SIGKILL')
    await clients
    const before = [...(await rows()).keys()]
    const begun = performance.now()
    bus = await up(x, place, ['worker'])
    await until('no orphan', async () => (await processesWithMark(before)).length === 0, 20_000)
    const orphansMs = performance.now() - begun
    x.true(orphansMs < 5000 || orphansMs < bus.startedInMs + 500, `orphans lived for ${orphansMs} ms`)
    const after = await rows()
    x.true(
      [...after.values()].every(({ state }) => state === 'done'),
      'nothing is open',
    )
    for (const [prompt, { ext, success }] of answered) {
      if (ext?.turn === undefined) continue
      const row = after.get(ext.turn)
      x.is(row?.state, 'done', prompt)
      x.is(row?.costMicroUsd, Math.round((ext.costUsd ?? -1) * 1e6), prompt)
      if (success) x.is(row?.outcome, 'success', prompt)
    }
    // Each key is asked again: what ran is answered, and does not run again.
    for (const prompt of keyed.splice(0)) {
      if (prompt.includes('hang') && !starts().some(([, started]) => started === prompt)) continue
      const again = await talkTo(bus, 'worker', prompt, { 'Idempotency-Key': encodeURI(prompt) })
      if (!envelope.is(again.json)) x.fail(again.text)
      else if (answered.get(prompt)?.success) x.is(again.json.ext?.turn, answered.get(prompt)?.ext?.turn, prompt)
    }
    const turns = starts().map(([turn]) => turn)
    x.is(new Set(turns).size, turns.length, 'no turn starts twice')
    // A bus that is killed before it could hand its prompt over leaves an agent that reads none.
    const byKey = starts().flatMap(([, prompt]) => (prompt === '' ? [] : [prompt]))
    x.is(new Set(byKey).size, byKey.length, 'no prompt runs twice')
  }
  await bus.kill('SIGTERM')
  const all = right(await store.read(sql => sql.all(sums, 'SELECT * FROM balances'))())
  const spent = [...(await rows()).values()].reduce((sum, { costMicroUsd = 0 }) => sum + costMicroUsd, 0)
  for (const balance of all)
    x.like(balance, { spentMicroUsd: spent, heldMicroUsd: 0 }, `${balance.scope} ${balance.window}`)
  x.log(`${asked} talks, ${answers} answered, ${starts().length} turns, $${spent / 1e6}`)
  x.true(answers > times(20))
})
