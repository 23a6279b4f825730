// Writes to the store of the folder named first until that is refused; then says what the refusal was and what stands there.
import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { openStore } from '../../../src/store/open-store.ts'

// Past the limit of a file's size the kernel sends this first; without a listener it ends the process.
process.on('SIGXFSZ', () => undefined)
const store = await openStore(String(process.argv[2]))()
if (E.isLeft(store)) throw new Error(store.left.sentence)
for (let written = 0; ; written += 1) {
  const change = await store.right.write(sql => {
    sql.run('INSERT INTO answers VALUES (?, ?, 0)', String(written), 'x'.repeat(20_000))
    sql.run('INSERT INTO answers VALUES (?, ?, 0)', `${written} more`, 'x'.repeat(20_000))
  })()
  if (E.isRight(change)) continue
  const count = await store.right.read(sql => sql.one(t.type({ n: t.number }), 'SELECT count(*) AS n FROM answers'))()
  console.log(JSON.stringify({ written, refusal: change.left, count }))
  break
}
