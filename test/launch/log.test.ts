import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { Writable } from 'node:stream'
import test from 'ava'
import { openLog } from '../../src/launch/log.ts'
import { makeWorld, until } from './world.ts'

const logs = async (folder: string) => (await readdir(folder)).filter(name => name.startsWith('log.')).sort()

const sizesOf = async (folder: string) => {
  const files = (await logs(folder)).map(name => stat(path.join(folder, name)).catch(() => undefined))
  return (await Promise.all(files)).map(file => file?.size ?? 0)
}

const written = async (folder: string) => (await sizesOf(folder)).join(' ')

test('a line is JSON: time, level, event, facts; for the user alone; what is secret is not in it', async t => {
  const { folder } = await makeWorld(t)
  const { log, close } = await openLog(folder)
  log('started', { turn: 't1', prompt: 'do not tell', token: 'do not tell', authorization: 'do not tell' })
  log('refused', { code: 'busy' }, 'warn')
  await close()
  const [name = ''] = await logs(folder)
  const text = await readFile(path.join(folder, name), 'utf8')
  const [first, second] = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.like(first, { level: 'info', msg: 'started', turn: 't1', pid: process.pid })
  t.like(second, { level: 'warn', msg: 'refused', code: 'busy' })
  t.false(text.includes('do not tell'))
  t.false(Number.isNaN(Date.parse(first.time)))
  t.is((await stat(path.join(folder, name))).mode & 0o077, 0)
})

test('it grows to a few files of 2 MB and no further', async t => {
  const { folder } = await makeWorld(t)
  const { log, close } = await openLog(folder)
  const filler = 'x'.repeat(64 * 1024)
  const newest = async () => Math.max(0, ...(await logs(folder)).map(name => Number(name.split('.')[1])))
  while ((await newest()) < 7) {
    const before = await written(folder)
    log('filled', { filler })
    await until(async () => (await written(folder)) !== before)
  }
  await until(async () => (await logs(folder)).length <= 5)
  await close()
  const sizes = await sizesOf(folder)
  t.true(Math.max(...sizes) < 2.2 * 1024 * 1024, sizes.join(' '))
})

test('a log that cannot be written loses its lines and ends nothing', async t => {
  const { folder } = await makeWorld(t)
  const { log, close } = await openLog(path.join(folder, 'missing'))
  log('lost')
  await close()
  t.deepEqual(await logs(folder), [])
})

test('a log whose file cannot be opened keeps nobody from ending, and keeps little of what it cannot write', async t => {
  const { folder } = await makeWorld(t)
  await mkdir(path.join(folder, 'log.1.log'))
  const { log, close } = await openLog(folder)
  log('lost')
  // Their places in the pool are behind that of its file, which is refused by then.
  for (let look = 0; look < 8; look += 1) await stat(folder)
  const before = process.memoryUsage().external + process.memoryUsage().heapUsed
  for (let line = 0; line < 2000; line += 1) log('lost', { filler: `${line}`.padEnd(16 * 1024, 'x') })
  t.true(process.memoryUsage().external + process.memoryUsage().heapUsed - before < 16 * 1024 * 1024)
  await close()
})

test('--verbose shows it', async t => {
  const { folder } = await makeWorld(t)
  const seen: string[] = []
  const echo = new Writable({
    write: (chunk, _encoding, done) => {
      seen.push(String(chunk))
      done()
    },
  })
  const { log, close } = await openLog(folder, echo)
  log('shown')
  await close()
  t.true(seen.some(line => line.includes('"shown"')))
})
