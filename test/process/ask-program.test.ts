import os from 'node:os'
import test from 'ava'
import { askProgram } from '../../src/process/ask-program.ts'
import { isRunning, startTimeOf } from '../../src/process/identity.ts'

const ask = (script: string, timeoutMs = 30_000) =>
  askProgram({
    file: '/bin/sh',
    args: ['-c', script],
    cwd: os.tmpdir(),
    env: { PATH: '/usr/bin:/bin', A: 'a' },
    timeoutMs,
  })()

test('what a program says, and its exit status', async t => {
  t.deepEqual(await ask('echo "$A"; echo b >&2; exit 3'), { status: 3, stdout: 'a\n', stderr: 'b\n', late: false })
})

test('its standard input is at its end', async t => {
  t.like(await ask('cat; echo done'), { status: 0, stdout: 'done\n' })
})

test('one that is missing has no status', async t => {
  const told = await askProgram({ file: '/no/such/program', args: [], cwd: os.tmpdir(), env: {}, timeoutMs: 1000 })()
  t.deepEqual(told, { stdout: '', stderr: '', late: false })
})

test('one that takes too long is ended with its group', async t => {
  const told = await ask('sleep 1000 & echo $!; wait', 300)
  t.like(told, { late: true })
  t.false('status' in told)
  const pid = Number(told.stdout)
  t.true(pid > 0)
  const startTime = startTimeOf(pid)
  while (startTime !== undefined && isRunning({ pid, startTime })) await new Promise(resolve => setTimeout(resolve, 10))
  t.pass()
})

test('one that leaves a child with its pipes is not waited for, and the child is ended', async t => {
  const { status, stdout } = await ask('sleep 1000 & echo $!')
  t.is(status, 0)
  const pid = Number(stdout)
  const startTime = startTimeOf(pid)
  while (startTime !== undefined && isRunning({ pid, startTime })) await new Promise(resolve => setTimeout(resolve, 10))
  t.pass()
})

test('of one that says too much the beginning is kept', async t => {
  const { stdout, status } = await ask('head -c 3000000 /dev/zero | tr "\\0" x')
  t.is(status, 0)
  t.is(stdout.length, 64 * 1024)
})
