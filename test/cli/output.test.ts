import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { errand, lives, placeOf, shell, stateFile, until } from './errand.ts'

const bin = fileURLToPath(new URL('../../bin/errand.js', import.meta.url))

const fullDisk = '/dev/full'
const withFullDisk = fs.existsSync(fullDisk) ? test : test.skip

withFullDisk('an answer that cannot be written is said and is no success', async t => {
  const place = placeOf(t, { worker: shell('cat') })
  const full = fs.openSync(fullDisk, 'w')
  t.teardown(() => fs.closeSync(full))
  const run = (...args: readonly string[]) => {
    const stdio: ['ignore', number, 'pipe'] = ['ignore', full, 'pipe']
    return spawnSync(process.execPath, [bin, ...args], { cwd: place.folder, env: place.environment, stdio })
  }
  for (const args of [['talk', 'worker', 'hi'], ['log'], ['--help']]) {
    const { status, stderr } = run(...args)
    t.is(status, 74, args.join(' '))
    t.regex(String(stderr), /^errand: .* could not be written \(ENOSPC: .*errand log TURN --text/)
  }
  // Nothing was printed, so nothing was lost.
  const { status, stderr } = run('talk', 'nobody', 'hi')
  t.is(status, 65)
  t.notRegex(String(stderr), /ENOSPC/)
})

// The `script` of util-linux gives a program a terminal of its own.
const hasTerminals = String(spawnSync('script', ['--version']).stdout).includes('util-linux')
const inTerminal = hasTerminals ? test : test.skip

inTerminal('closing the terminal cancels the turn, and is no mistake of errand', async t => {
  const place = placeOf(t, { worker: shell('sleep 300 & echo $! > turn; wait') })
  const line = `echo $$ > errand; exec '${process.execPath}' '${bin}' talk worker hi`
  const terminal = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: place.folder,
    env: { ...place.environment, SHELL: '/bin/sh' },
    stdio: 'ignore',
  })
  t.teardown(() => terminal.kill('SIGKILL'))
  await until(
    'the turn runs',
    () => fs.existsSync(path.join(place.folder, 'turn')) && place.read('turn').endsWith('\n'),
  )
  terminal.kill('SIGKILL')
  await until('errand has ended', () => !lives(Number(place.read('errand'))))
  t.false(lives(Number(place.read('turn'))))
  const [turn] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.is(turn.outcome, 'cancelled')
  t.notRegex(fs.readFileSync(stateFile(place, 'log.1.log'), 'utf8'), /"msg":"bug"/)
})

test('a folder that is gone is a sentence', t => {
  const place = placeOf(t)
  const line = `mkdir gone && cd gone && rmdir ../gone && exec '${process.execPath}' '${bin}' ps`
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', line], { cwd: place.folder, env: place.environment })
  t.is(status, 78)
  t.is(String(stdout), '')
  t.regex(String(stderr), /^The folder that this shell stands in does not exist any more\..*\n$/)
})

inTerminal('an answer does not steer the terminal, and reaches a pipe as it is', async t => {
  const answer = 'a\\tb \\033[31mred\\033[0m \\033]52;c;ZXZpbA==\\007\\r\\nnext\\b\\302\\233'
  const place = placeOf(t, { worker: shell(`printf '${answer}'`) })
  const line = (...args: readonly string[]) => `exec '${process.execPath}' '${bin}' ${args.join(' ')} 2>/dev/null`
  const watched = (...args: readonly string[]) => {
    const env = { ...place.environment, SHELL: '/bin/sh' }
    const ran = spawnSync('script', ['-qec', line(...args), '/dev/null'], { cwd: place.folder, env, input: '' })
    // The terminal itself ends its lines with both.
    return String(ran.stdout).replaceAll('\r\n', '\n')
  }
  t.is(watched('talk', 'worker', 'hi'), 'a\tb red \nnext\n')
  const [{ turn }] = JSON.parse((await errand(place, ['log', '--json'])).stdout)
  t.is(watched('log', turn, '--text'), 'a\tb red \nnext\n')
  const piped = 'a\tb \u001b[31mred\u001b[0m \u001b]52;c;ZXZpbA==\u0007\r\nnext\b\u009b\n'
  t.is((await errand(place, ['talk', 'worker', 'hi'])).stdout, piped)
})
