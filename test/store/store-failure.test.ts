import test from 'ava'
import { isLocked, storeFailure } from '../../src/store/store-failure.ts'

const refused = (facts: object): Error => Object.assign(new Error('said so'), facts)

test('what SQLite and the file system refuse has a code and a sentence with the file', t => {
  const rows: readonly [object, string][] = [
    [{ code: 'ERR_SQLITE_ERROR', errcode: 11 }, 'session_state'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 267 }, 'session_state'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 26 }, 'session_state'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 8 }, 'write_permission'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 1544 }, 'write_permission'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 14 }, 'write_permission'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 5 }, 'internal_error'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 13 }, 'internal_error'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 778 }, 'internal_error'],
    [{ code: 'ENOSPC' }, 'internal_error'],
    [{ code: 'EACCES' }, 'write_permission'],
    [{ code: 'EROFS' }, 'write_permission'],
    [{ code: 'EIO' }, 'internal_error'],
  ]
  for (const [facts, code] of rows) {
    const failure = storeFailure('/state/errand.db', refused(facts))
    t.is<string, string>(failure.code, code, JSON.stringify(facts))
    t.true(failure.sentence.includes('/state/errand.db'))
  }
  t.regex(storeFailure('/state/errand.db', refused({ errcode: 13 })).sentence, /[Ss]pace/)
})

test('only a lock is tried again, and a bug is not told as a refusal', t => {
  t.true(isLocked(refused({ errcode: 5 })))
  t.true(isLocked(refused({ errcode: 261 })))
  t.false(isLocked(refused({ errcode: 11 })))
  t.false(isLocked(new TypeError('x')))
  t.throws(() => storeFailure('/state/errand.db', new TypeError('x')), { instanceOf: TypeError })
})
