import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { identify, lifeOf, startTimeOf, thisProcess } from '../../src/process/identity.ts'
import { signalGroup, signalProcess } from '../../src/process/signal.ts'

const sleeper = () =>
  spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'ignore', detached: true })

test('this process is alive, and is told from one that had its pid before', t => {
  const self = thisProcess()
  t.is(self.pid, process.pid)
  t.regex(self.startTime, /\d/)
  t.not(self.bootId, '')
  t.is(lifeOf(self), 'alive')
  t.is(lifeOf({ ...self, startTime: '1' }), 'gone')
})

test('a process of an earlier boot is gone; one of another pid namespace nobody can judge', t => {
  const self = thisProcess()
  t.is(lifeOf({ ...self, bootId: 'another' }), 'gone')
  t.is(lifeOf({ ...self, pidNamespace: 'pid:[1]' }), 'elsewhere')
})

test('a start time does not change, and a pid that nobody has has none', t => {
  t.is(startTimeOf(process.pid), startTimeOf(process.pid))
  for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 30]) t.is(startTimeOf(pid), undefined, String(pid))
})

test('a process that has ended is gone, also while it is still a zombie', async t => {
  // It ends its own child without ever waiting for it.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line]: unknown[] = await once(parent.stdout, 'data')
  const zombie = identify(Number(String(line)))
  while (lifeOf(zombie) === 'alive') await new Promise(resolve => setTimeout(resolve, 5))
  t.is(lifeOf(zombie), 'gone')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
})

test('who has no file descriptor left takes nobody for gone', t => {
  const module = new URL('../../src/process/identity.ts', import.meta.url).href
  const program = `
    const { lifeOf, thisProcess } = await import(${JSON.stringify(module)})
    const fs = await import('node:fs')
    const [self, open] = [thisProcess(), []]
    const ended = { ...self, pid: 2 ** 22 + 1 }
    try { for (;;) open.push(fs.openSync('/dev/null')) } catch {}
    const without = [lifeOf(self), lifeOf(ended)]
    for (const file of open) fs.closeSync(file)
    console.log(JSON.stringify([...without, lifeOf(self), lifeOf(ended)]))`
  const { stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, program],
    { encoding: 'utf8' },
  )
  t.deepEqual(JSON.parse(stdout || 'null'), ['elsewhere', 'elsewhere', 'alive', 'gone'], stderr)
})

test('a signal reaches the process that was meant, and never another one with its pid', async t => {
  const child = sleeper()
  const target = identify(child.pid ?? 0)
  const stranger = { ...target, startTime: '1' }
  t.false(signalProcess(stranger, 'SIGKILL'))
  t.false(signalGroup(stranger, 'SIGKILL'))
  t.is(lifeOf(target), 'alive')
  t.true(signalProcess(target, 'SIGTERM'))
  const [, signal]: unknown[] = await once(child, 'exit')
  t.is(signal, 'SIGTERM')
  t.false(signalProcess(target, 'SIGKILL'))
  t.false(signalGroup(target, 'SIGKILL'))
})

test('a group is signalled as a whole, also when its leader has ended', async t => {
  const leader = spawn('/bin/sh', ['-c', 'sleep 60 & echo $!; read line'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const group = identify(leader.pid ?? 0)
  const [line]: unknown[] = await once(leader.stdout, 'data')
  const member = identify(Number(String(line)))
  leader.stdin.end('\n')
  await once(leader, 'exit')
  t.is(lifeOf(member), 'alive')
  t.true(signalGroup(group, 'SIGKILL'))
  while (lifeOf(member) === 'alive') await new Promise(resolve => setTimeout(resolve, 5))
  t.pass()
})

test('numbers that mean many processes are never signalled', t => {
  for (const pid of [0, 1, -1]) {
    const target = { pid, startTime: startTimeOf(pid) ?? '' }
    t.false(signalGroup(target, 'SIGCONT'), String(pid))
  }
  t.false(signalProcess({ pid: 0, startTime: '' }, 'SIGCONT'))
})
