import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { errand, isPlain, lives, placeOf, shell, start, startUp, until } from './errand.ts'

test('the answer goes to stdout, and nothing else is said to a pipe', async t => {
  const place = placeOf(t, { worker: shell('cat; echo; echo done') })
  const ran = await errand(place, ['talk', 'worker', 'two', 'words'])
  t.deepEqual(ran, { status: 0, stdout: 'two words\ndone\n', stderr: '' })
})

test('the prompt and what is piped in are joined', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  t.is(
    (await errand(place, ['talk', 'worker', 'look at this'], { input: '+a\n-b\n' })).stdout,
    'look at this\n\n+a\n-b\n',
  )
  t.is((await errand(place, ['talk', 'worker'], { input: 'only piped' })).stdout, 'only piped\n')
  t.is((await errand(place, ['talk', 'worker', '--', '--dashed'])).stdout, '--dashed\n')
})

test('a pipe that nobody closes is waited for, and that is said', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const running = start(place, ['talk', 'worker', 'look'], { open: true })
  await running.says('reading standard input to its end')
  running.child.stdin?.end('late')
  t.is((await running.ended).stdout, 'look\n\nlate\n')
})

test('--json prints the envelope', async t => {
  const report = `echo '{"usd":0.0125,"tokens":40,"model":"m1"}' >> "$ERRAND_REPORT"; cat`
  const place = placeOf(t, { worker: shell(report) })
  const ran = await errand(place, ['talk', 'worker', 'hi', '--json'])
  t.is(ran.status, 0)
  t.is(ran.stderr, '')
  const { durationMs, ext, ...envelope } = JSON.parse(ran.stdout)
  t.deepEqual(envelope, {
    success: true,
    text: 'hi',
    fromInstance: 'worker',
    protocolVersion: 1,
    capabilities: ['structured-errors', 'retryable-errors'],
  })
  t.true(Number.isInteger(durationMs))
  t.is(ext.costUsd, 0.0125)
  t.is(ext.basis, 'reported')
  t.is(ext.model, 'm1')
  t.regex(ext.turn, /^[0-9a-f]{16}$/)
})

test('a turn that fails: its sentence, the exit status of its code, and with --json its envelope', async t => {
  const place = placeOf(t, { worker: shell('echo "no disk in drive" >&2; exit 3') })
  const ran = await errand(place, ['talk', 'worker', 'hi'])
  t.is(ran.status, 75)
  t.is(ran.stdout, '')
  t.regex(ran.stderr, /^errand: worker: .*no disk in drive.*\n$/)
  const { stdout, status } = await errand(place, ['talk', 'worker', 'hi', '--json'])
  t.is(status, 75)
  t.like(JSON.parse(stdout), { success: false, errorCode: 'engine_cli', retryable: true, fromInstance: 'worker' })
})

test('failures of talk are envelopes under --json also where nothing was sent', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const { stdout, status } = await errand(place, ['talk', 'wroker', 'hi', '--json'])
  t.is(status, 65)
  t.like(JSON.parse(stdout), { success: false, errorCode: 'invalid_request', retryable: false, protocolVersion: 1 })
})

test('who may not talk, and who is too deep, is told before anything starts', async t => {
  const place = placeOf(t, { worker: shell('touch ran; cat', { maxDepth: 1 }), reviewer: shell('cat') })
  const peer = await errand(place, ['talk', 'worker', 'hi', '--from', 'reviewer'])
  t.is(peer.status, 77)
  t.regex(peer.stderr, /reviewer/)
  const deep = await errand(place, ['talk', 'worker', 'hi', '--depth', '1', '--json'])
  t.is(deep.status, 77)
  t.is(JSON.parse(deep.stdout).errorCode, 'max_depth_exceeded')
  t.false(fs.existsSync(path.join(place.folder, 'ran')))
})

test('a budget that is used up', async t => {
  const spend = `echo '{"usd":0.01}' >> "$ERRAND_REPORT"; cat`
  const place = placeOf(t, { worker: shell(spend, { budget: { usd: 0.01 } }) })
  t.is((await errand(place, ['talk', 'worker', 'hi'])).status, 0)
  const again = await errand(place, ['talk', 'worker', 'hi'])
  t.is(again.status, 77)
  t.regex(again.stderr, /^errand: Budget exhausted: \$0\.0\d+ used of \$0\.01\./)
})

test('--timeout ends the turn', async t => {
  const place = placeOf(t, { worker: shell('echo $$ > pid; exec sleep 300') })
  await startUp(t, place)
  const ran = await errand(place, ['talk', 'worker', 'hi', '--timeout', '4s'])
  t.is(ran.status, 75)
  t.regex(ran.stderr, /worker did not answer within [\d.]+ m?s, its caller's limit;/)
  await until('the turn is ended', () => !lives(Number(place.read('pid'))))
})

for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} cancels the turn and leaves nothing running`, async t => {
    const place = placeOf(t, { worker: shell('sleep 300 & echo $! > pid; wait') })
    const running = start(place, ['talk', 'worker', 'hi'])
    await until(
      'the turn runs',
      () => fs.existsSync(path.join(place.folder, 'pid')) && place.read('pid').endsWith('\n'),
    )
    running.child.kill(signal)
    const ran = await running.ended
    t.is(ran.status, status)
    t.is(ran.stdout, '')
    t.true(isPlain(ran.stderr))
    t.false(lives(Number(place.read('pid'))))
    const [turn] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
    t.is(turn.outcome, 'cancelled')
    t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
  })
}

test('a talk that launches leaves nothing running', async t => {
  const place = placeOf(t, {
    worker: shell('cat', { peers: ['reviewer'] }),
    reviewer: shell('errand talk worker'),
  })
  const ran = await errand(place, ['talk', 'reviewer', 'hi'])
  t.deepEqual(ran, { status: 0, stdout: 'hi\n', stderr: '' })
  t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
})

test('two talks at once on one state folder', async t => {
  const spend = `echo '{"usd":0.01}' >> "$ERRAND_REPORT"; cat`
  const place = placeOf(t, {
    worker: shell(spend, { peers: ['reviewer'], budget: { usd: 1 }, maxTurnUsd: 0.1 }),
    reviewer: shell(`echo '{"usd":0.01}' >> "$ERRAND_REPORT"; errand talk worker`, {
      budget: { usd: 1 },
      maxTurnUsd: 0.1,
    }),
  })
  const both = await Promise.all(['a', 'b'].map(prompt => errand(place, ['talk', 'reviewer', prompt])))
  t.deepEqual(
    both,
    ['a', 'b'].map(prompt => ({ status: 0, stdout: `${prompt}\n`, stderr: '' })),
  )
  const budgets = JSON.parse((await errand(place, ['budget', '--json'])).stdout)
  t.deepEqual(
    budgets.map(({ spentUsd, heldUsd, turns }: { spentUsd: number; heldUsd: number; turns: number }) => [
      spentUsd,
      heldUsd,
      turns,
    ]),
    [
      [0.02, 0, 2],
      [0.02, 0, 2],
    ],
  )
  t.deepEqual(JSON.parse((await errand(place, ['ps', '--json'])).stdout), [])
})

test('--cwd is where the instance works, if this talk launches it', async t => {
  const place = placeOf(t, { worker: shell('pwd') })
  fs.mkdirSync(path.join(place.folder, 'sub'))
  t.is((await errand(place, ['talk', 'worker', 'hi', '--cwd', 'sub'])).stdout, `${place.folder}/sub\n`)
  await startUp(t, place)
  const ran = await errand(place, ['talk', 'worker', 'hi', '--cwd', 'sub'])
  t.is(ran.status, 65)
  t.regex(ran.stderr, /runs already/)
})

test('--dry-run says what would happen, and does nothing', async t => {
  const place = placeOf(t, {
    worker: shell('touch ran; cat', { peers: ['reviewer'] }),
    reviewer: shell('touch ran; cat', { budget: { usd: 1 } }),
  })
  const told = await errand(place, ['talk', 'reviewer', 'hi', '--dry-run'])
  t.is(told.status, 0)
  t.regex(told.stdout, /reviewer/)
  const { stdout } = await errand(place, ['talk', 'reviewer', 'hi', '--dry-run', '--json'])
  t.like(JSON.parse(stdout), {
    dryRun: true,
    instance: 'reviewer',
    from: 'operator',
    depth: 1,
    launches: ['reviewer', 'worker'],
  })
  const refused = await errand(place, ['talk', 'reviewer', 'hi', '--dry-run', '--from', 'worker'])
  t.is(refused.status, 77)
  t.false(fs.existsSync(path.join(place.folder, 'ran')))
  t.deepEqual(JSON.parse((await errand(place, ['log', '--json'])).stdout), [])
})
