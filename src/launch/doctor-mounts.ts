import fs from 'node:fs'
import path from 'node:path'
import { isWithin } from '../config/warnings.ts'

/** The kind of network file system that a path lies on, or would lie on; Linux only, `undefined` where there is none. */
export const networkFileSystem = (where: string): string | undefined => {
  const mounts = read('/proc/self/mountinfo')
  const real = realOf(where)
  return mounts === undefined || real === undefined ? undefined : networkKind(mounts, real)
}

/** The same, of the text of /proc/self/mountinfo. */
export const networkKind = (mountinfo: string, where: string): string | undefined => {
  const mounts = mountinfo.split('\n').flatMap(line => {
    const [left = '', right = ''] = line.split(' - ')
    const [, , , , point] = left.split(' ')
    const [kind = ''] = right.split(' ')
    return point === undefined ? [] : [{ point: unescaped(point), kind }]
  })
  // Of two on one point the later one lies above.
  const [over] = mounts
    .filter(({ point }) => isWithin(where, point))
    .toReversed()
    .sort((one, other) => other.point.length - one.point.length)
  return over !== undefined && networkKinds.test(over.kind) ? over.kind : undefined
}

const networkKinds =
  /^(?:nfs\d?|cifs|smb\d?|smbfs|ncpfs|afs|ceph|glusterfs|lustre|gpfs|beegfs|ocfs2|gfs2|9p|virtiofs|fuse\.(?:sshfs|s3fs|rclone|gcsfuse|glusterfs|ceph-fuse))$/

// Blanks stand as \040 there.
const unescaped = (point: string): string =>
  point.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/** Of what does not exist yet, the nearest folder above. */
const realOf = (where: string): string | undefined => {
  for (let at = where; ; at = path.dirname(at)) {
    try {
      return fs.realpathSync(at)
    } catch {
      if (path.dirname(at) === at) return undefined
    }
  }
}

const read = (file: string): string | undefined => {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
