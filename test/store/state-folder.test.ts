import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { openStore } from '../../src/store/open-store.ts'
import { left, testFolder } from './folder.ts'

test('a state folder that others could write, or lead elsewhere, is refused', async t => {
  const inside = testFolder(t)
  const real = path.join(inside, 'real')
  fs.mkdirSync(real, { mode: 0o700 })
  const link = path.join(inside, 'link')
  fs.symlinkSync(real, link)
  const open = path.join(inside, 'open')
  fs.mkdirSync(open)
  fs.chmodSync(open, 0o777)
  const file = path.join(inside, 'file')
  fs.writeFileSync(file, '')
  for (const folder of [link, open, file, path.join(file, 'below')]) {
    const refusal = left(await openStore(folder)())
    t.is(refusal.code, 'write_permission', folder)
    t.true(refusal.sentence.includes(folder), refusal.sentence)
  }
  t.deepEqual(fs.readdirSync(real), [])
  t.deepEqual(fs.readdirSync(open), [])
})

const withProc = fs.existsSync('/proc/self') ? test : test.skip

withProc('a state folder where none can be made is refused at once', async t => {
  const refusal = left(await openStore('/proc/errand/state')())
  t.true(refusal.sentence.includes('/proc/errand/state'), refusal.sentence)
})

const isRoot = process.getuid?.() === 0
const asRoot = isRoot ? test : test.skip
const asUser = isRoot ? test.skip : test

asRoot('a state folder of somebody else is refused', async t => {
  const folder = testFolder(t)
  fs.chownSync(folder, 12345, 12345)
  const refusal = left(await openStore(folder)())
  t.is(refusal.code, 'write_permission')
  t.regex(refusal.sentence, /another user/)
})

asUser('a state folder without the right to write is refused', async t => {
  const folder = testFolder(t)
  fs.chmodSync(folder, 0o500)
  t.is(left(await openStore(folder)()).code, 'write_permission')
})
