import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { processesWithMark } from '../../src/process/mark.ts'

const onLinux = process.platform === 'linux' ? test : test.skip

const carrying = async (value: string) => {
  const child = spawn('/bin/sh', ['-c', 'echo up; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: '/bin:/usr/bin', NOT_ERRAND_TURN: 'mark-z', ERRAND_TURN: value },
  })
  await once(child.stdout, 'data')
  return child
}

onLinux('a process is found by its mark, whole or as a part of a nested one', async t => {
  const own = `m${process.pid}`
  const children = await Promise.all(
    [`${own}-a`, `${own}-b:${own}-a`, `${own}-a:${own}-c`, `${own}-ab`, `x${own}-a`].map(carrying),
  )
  const pids = async (mark: string) => (await processesWithMark([mark])).map(({ pid }) => pid).sort()
  const pidOf = (...at: readonly number[]) => at.map(index => children[index]?.pid ?? 0).sort()
  t.deepEqual(await pids(`${own}-a`), pidOf(0, 1, 2))
  t.deepEqual(await pids(`${own}-b`), pidOf(1))
  t.deepEqual(await pids('mark-z'), [])
  t.deepEqual(await pids(''), [])
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.map(child => once(child, 'exit')))
  t.deepEqual(await pids(`${own}-a`), [])
})
