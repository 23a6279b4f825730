import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import test from 'ava'
import { isOlder } from '../../src/launch/doctor-instances.ts'
import { networkKind } from '../../src/launch/doctor-mounts.ts'
import { packageVersion } from '../../src/launch/doctor-package.ts'
import { makeWorld } from './world.ts'

const mounts = [
  '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2',
  '31 30 8:2 / /home/local\\040disk rw - xfs /dev/sdb1 rw',
  '32 22 0:41 / /mnt/far rw - fuse.sshfs user@host: rw',
  '33 22 0:42 / /mnt/far/over rw - cifs //host/share rw',
  '34 22 8:3 / /mnt/far/over rw - ext4 /dev/sdc1 rw',
].join('\n')

test('the file system of a path is that of the nearest mount above it', t => {
  t.is(networkKind(mounts, '/var/lib'), undefined)
  t.is(networkKind(mounts, '/home/me/.local/state/errand'), 'nfs4')
  t.is(networkKind(mounts, '/home'), 'nfs4')
  t.is(networkKind(mounts, '/homely'), undefined)
  t.is(networkKind(mounts, '/home/local disk/state'), undefined)
  t.is(networkKind(mounts, '/mnt/far/x'), 'fuse.sshfs')
  t.is(networkKind(mounts, '/mnt/far/over/x'), undefined)
  t.is(networkKind('', '/x'), undefined)
})

test('versions are compared by their numbers', t => {
  for (const [version, than] of [
    ['2.1.9', '2.1.332'],
    ['0.99.0', '0.171.0'],
    ['1.9', '2.0.0'],
    ['1.0', '1.0.1'],
  ] as const) {
    t.true(isOlder(version, than), `${version} < ${than}`)
    t.false(isOlder(than, version), `${than} ≥ ${version}`)
  }
  t.false(isOlder('2.1.332', '2.1.332'))
})

test('the version of a program that does not tell it is that of its package', async t => {
  const { write, folder } = await makeWorld(t)
  await write('node_modules/@x/cli/package.json', '{ "name": "@x/cli", "version": "3.2.1" }')
  await write('node_modules/@x/cli/dist/package.json', '{ "type": "module" }')
  await write('node_modules/@x/cli/dist/bin.js', '')
  await mkdir(path.join(folder, 'node_modules/.bin'))
  await symlink('../@x/cli/dist/bin.js', path.join(folder, 'node_modules/.bin/x'))
  t.is(packageVersion(path.join(folder, 'node_modules/.bin/x')), '3.2.1')
  await write('package.json', '{ "name": "mine", "version": "0.0.1" }')
  await write('node_modules/plain/bin.js', '')
  t.is(packageVersion(path.join(folder, 'node_modules/plain/bin.js')), undefined)
  t.is(packageVersion(path.join(folder, 'gone')), undefined)
})
