import fs from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { createSecret, readSecret, secretFile } from '../../src/store/secret.ts'
import { left, right, testFolder } from './folder.ts'

test('the secret is made once, 256 bits, for this user alone', t => {
  const folder = testFolder(t)
  right(createSecret(folder))
  const secret = right(readSecret(folder))
  t.regex(secret, /^[0-9a-f]{64}$/)
  t.is(fs.statSync(secretFile(folder)).mode & 0o777, 0o600)
  right(createSecret(folder))
  t.is(right(readSecret(folder)), secret)
  t.deepEqual(fs.readdirSync(folder), ['secret'], 'no draft is left')
  const another = testFolder(t)
  right(createSecret(another))
  t.not(right(readSecret(another)), secret)
})

test('a secret that others may read, a link, a folder or another content is refused', t => {
  const spoilt: Readonly<Record<string, (file: string) => void>> = {
    write_permission: file => fs.chmodSync(file, 0o644),
    'session_state   ': file => {
      fs.renameSync(file, `${file}.elsewhere`)
      fs.symlinkSync(`${file}.elsewhere`, file)
    },
    session_state: file => fs.writeFileSync(file, ''),
    'session_state ': file => fs.writeFileSync(file, 'hunter2'),
    'session_state  ': file => {
      fs.rmSync(file)
      fs.mkdirSync(file, { mode: 0o700 })
    },
    internal_error: file => fs.rmSync(file),
  }
  for (const [code, spoil] of Object.entries(spoilt)) {
    const folder = testFolder(t)
    right(createSecret(folder))
    spoil(secretFile(folder))
    const refusal = left(readSecret(folder))
    t.is<string, string>(refusal.code, code.trim())
    t.true(refusal.sentence.includes(path.join(folder, 'secret')))
  }
})
