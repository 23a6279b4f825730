import { readFile } from 'node:fs/promises'
import test from 'ava'
import { siteFor } from '../../src/launch/site.ts'
import { verifyAt } from '../../src/work/verify.ts'
import { makeWorld, type World } from '../launch/world.ts'
import { answers, openDesk } from './desk.ts'

const calls = async ({ folder }: World, name: string): Promise<readonly string[]> =>
  (await readFile(`${folder}/${name}.calls`, 'utf8').catch(() => ''))
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))

const worker = answers('worker', 'return /judged/.test(prompt) ? "better" : "draft"')
const passes = (test: string) =>
  `return JSON.stringify(${test} ? { verdict: 'pass', reason: 'it is good' } : { verdict: 'fail', reason: 'too short' })`
const request = { prompt: 'Write it', by: 'worker', judge: 'judge' } as const

test('what passes at once is answered and judged once', async t => {
  const { site, world } = await openDesk(t, { worker, judge: answers('judge', passes('true')) })
  const verified = await verifyAt(site, { ...request, criteria: 'it is short' })()
  t.like(verified, { passed: true, answer: 'draft', failure: undefined })
  t.deepEqual(verified.verdicts, [{ verdict: 'pass', reason: 'it is good' }])
  t.is(verified.envelopes.length, 2)
  const [asked = ''] = await calls(world, 'judge')
  t.regex(asked, /It passes if: it is short\n\n<request>\nWrite it\n<\/request>\n\n<answer>\ndraft\n<\/answer>/)
})

test('what fails goes back with the reason, and the earlier answer quoted', async t => {
  const { site, world } = await openDesk(t, { worker, judge: answers('judge', passes('/better/.test(prompt)')) })
  const verified = await verifyAt(site, request)()
  t.like(verified, { passed: true, answer: 'better' })
  t.deepEqual(
    verified.verdicts.map(({ verdict }) => verdict),
    ['fail', 'pass'],
  )
  t.is(verified.envelopes.length, 4)
  t.regex((await calls(world, 'worker'))[1] ?? '', /^Write it\n\n.*<answer>\ndraft\n<\/answer>\n\n.*: too short\n/s)
})

test('it goes round at most so often; not passed is no failure', async t => {
  const { site, world } = await openDesk(t, { worker, judge: answers('judge', passes('false')) })
  const verified = await verifyAt(site, { ...request, atMost: 2 })()
  t.like(verified, { passed: false, answer: 'better', failure: undefined })
  t.is(verified.verdicts.length, 2)
  t.is((await calls(world, 'worker')).length, 2)
})

test('a judge that gives no verdict is asked once more', async t => {
  const judge = answers('judge', `if (!/could not be read/.test(prompt)) return 'I like it'; ${passes('true')}`)
  const { site } = await openDesk(t, { worker, judge })
  const verified = await verifyAt(site, request)()
  t.true(verified.passed)
  t.is(verified.envelopes.length, 3)
})

test('and then fails, as a value: the answer is kept', async t => {
  const { site, world } = await openDesk(t, { worker, judge: answers('judge', 'return "I like it"') })
  const verified = await verifyAt(site, request)()
  t.like(verified, { passed: false, answer: 'draft', verdicts: [] })
  t.like(verified.failure, { errorCode: 'invalid_response', fromInstance: 'judge' })
  t.is((await calls(world, 'judge')).length, 2)
})

test('a talk that fails ends it', async t => {
  const { site } = await openDesk(t, { worker, judge: answers('judge', 'process.exit(3)') })
  const verified = await verifyAt(site, request)()
  t.like(verified, { passed: false, answer: 'draft' })
  t.is(verified.failure?.errorCode, 'engine_cli')
  const mute = await verifyAt(site, { ...request, by: 'nobody' })()
  t.like(mute, { passed: false, answer: '' })
  t.is(mute.failure?.errorCode, 'invalid_request')
})

// Answers with how many prompts its session has heard, and the words of this one.
const remembering = `export default {
  name: 'remembering',
  output: 'json',
  resumes: true,
  command: ({ prompt, session }) => ({
    file: process.execPath,
    args: ['-e', ${JSON.stringify(`
      const fs = require('fs')
      const session = process.argv[1] || 'S' + process.pid
      const heard = [...(fs.existsSync(session) ? JSON.parse(fs.readFileSync(session, 'utf8')) : []), fs.readFileSync(0, 'utf8')]
      fs.writeFileSync(session, JSON.stringify(heard))
      console.log(JSON.stringify({ session, text: 'answer ' + heard.length + ' to: ' + heard.at(-1) }))`)}, session ?? ''],
    stdin: prompt,
  }),
  decode: record => [
    { kind: 'session', id: record.text('session') },
    { kind: 'result', ok: true, text: record.text('text') },
  ],
  classify: () => ({ code: 'engine_cli', sentence: 'it failed' }),
}`

test('an engine that keeps sessions is asked again on its thread, without its own words', async t => {
  const world = await makeWorld(t)
  await world.write('remembering.mjs', remembering)
  const instances = {
    worker: { engine: './remembering.mjs', cli: process.execPath },
    judge: answers('judge', passes('/answer 2/.test(prompt)')),
  }
  const state = await world.state({ instances })
  const site = siteFor(state, ['worker', 'judge'], {})
  const verified = await verifyAt(site, request)()
  t.true(verified.passed)
  t.is(
    verified.answer,
    'answer 2 to: Your answer was judged not good enough: too short\n\nPut that right, and give the whole answer again.',
  )
  // Another piece of work has a session of its own.
  t.regex((await verifyAt(site, { ...request, atMost: 1 })()).answer, /^answer 1 /)
})
