import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { makeWorld } from '../launch/world.ts'
import { answers } from './desk.ts'

const door = new URL('../../src/index.ts', import.meta.url).href

test('a script hears of wrong arguments in one sentence, and of all else in envelopes', async t => {
  const world = await makeWorld(t)
  await world.config({
    instances: {
      a: answers('a', 'return prompt.toUpperCase()'),
      judge: answers('judge', `return '{"verdict":"pass","reason":"ok"}'`),
    },
  })
  const file = await world.write(
    'script.ts',
    `import { chain, fan, launch, verify } from ${JSON.stringify(door)}
     const bus = await launch('budgets.json')
     const thrown = async (work: Promise<unknown>) => console.log(await work.then(() => 'done', error => error.name + ': ' + error.message))
     await thrown(fan({ ...bus }, { prompt: 'x', to: ['a'] }))
     for (const request of [
       { prompt: 'x', to: [] }, { prompt: 'x', to: 'a' }, { prompts: ['x', 'y'], to: ['a'] }, { prompt: ' ', to: ['a'] }, undefined,
       { prompt: 'x', to: ['a'], atOnce: 0 }, { prompt: 'x', to: ['a'], budgetUsd: 0 }, { prompt: 'x', to: ['a'], budgetUsd: NaN },
       { prompt: 'x', to: ['a'], workflow: '-' }, { prompt: 'x', to: ['a'], signal: {} }, { prompt: 'x', to: ['a'], within: {} },
       { prompt: 'x', to: ['a'], within: { root: [] } },
     ]) await thrown(fan(bus, request as never))
     await thrown(chain(bus, { steps: [{ to: 'a' }] }))
     await thrown(verify(bus, { prompt: 'x', by: 'a', judge: 'judge', atMost: 1.5 }))
     process.on('uncaughtException', error => console.log('uncaught', error.message))
     const fanned = await fan(bus, { prompts: ['x', 'y'], to: 'a', budgetUsd: 1, onStep: () => { throw new Error('mine') } })
     console.log(fanned.branches.map(({ envelope }) => envelope.text).join(' '), fanned.costUsd)
     const events = []
     const verified = await verify(bus, { prompt: 'x', by: 'a', judge: 'judge', onProgress: (event, { step, to }) => events.push(step + to + event.kind) })
     console.log(verified.passed, verified.answer, events.join(' '))
     await bus.stop()
     const after = await chain(bus, { steps: [{ to: 'a', prompt: 'x' }] })
     console.log(after.failure?.errorCode, after.failure?.error)`,
  )
  const child = spawn(process.execPath, [file], {
    cwd: world.folder,
    env: world.where.environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', chunk => {
    text += chunk
  })
  await once(child, 'close')
  const lines = text.trimEnd().split('\n')
  const expected = [
    /^TypeError: The first argument must be the bus that launch\(\) gave\.$/,
    ...Array.from({ length: 3 }, () => /^TypeError: The fan cannot be done: it must be an object with prompt and to/),
    /^TypeError: The fan cannot be done: prompt must be a string that is not blank, not an empty string\.$/,
    /^TypeError: The fan cannot be done: it must be an object with prompt and to/,
    /atOnce must be a whole number from 1 to 1000, not 0\.$/,
    /budgetUsd must be dollars, above 0 and at most 10,000, not 0\.$/,
    /budgetUsd must be dollars, above 0 and at most 10,000, not NaN\.$/,
    /workflow must be a name of 1 to 100/,
    /signal must be an AbortSignal/,
    /within must be a result of fan, chain or verify/,
    /within must be a result of fan, chain or verify/,
    /^TypeError: The chain cannot be done: steps must be a list of 1 to 1000 objects/,
    /^TypeError: The verify cannot be done: atMost must be a whole number from 1 to 1000, not 1\.5\.$/,
  ]
  for (const [at, sentence] of expected.entries()) t.regex(lines[at] ?? '', sentence)
  const rest = lines.slice(expected.length)
  t.is(rest.filter(line => line === 'uncaught mine').length, 4)
  t.deepEqual(
    rest.filter(line => line !== 'uncaught mine'),
    [
      'X Y 0',
      'true X 1aaccepted 1astarted 1atext 2judgeaccepted 2judgestarted 2judgetext',
      'instance_unavailable This bus was stopped: launch it again.',
    ],
  )
})
