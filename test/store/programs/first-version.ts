// Holds the store of the file named first open as a program of the first version does, with its statements prepared; a line
// on stdin has it run a turn from its hold to its settle.
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'

const db = new DatabaseSync(String(process.argv[2]))
const prepared = {
  insert: db.prepare(
    `INSERT INTO turns (turn, root, instance, sender, depth, engine, state, owner, tokenDigest, limits, createdAtMs)
     VALUES (?, ?, 'worker', 'operator', 1, 'command', 'waiting', 'old', 'd', '{}', 1)`,
  ),
  hold: db.prepare(`INSERT INTO balances (scope, window, heldMicroUsd, heldTurns) VALUES ('worker', 'total', 5, 1)
     ON CONFLICT (scope, window) DO UPDATE SET heldMicroUsd = heldMicroUsd + 5, heldTurns = heldTurns + 1`),
  run: db.prepare(`UPDATE turns SET state = 'running', startedAtMs = 2, heldMicroUsd = 5, day = '2026-01-01',
     month = '2026-01' WHERE turn = ?`),
  settle: db.prepare(`UPDATE turns SET state = 'done', costMicroUsd = 3, basis = 'reported', outcome = 'success',
     endedAtMs = 3 WHERE turn = ?`),
  charge: db.prepare(`UPDATE balances SET spentMicroUsd = spentMicroUsd + 3, heldMicroUsd = heldMicroUsd - 5,
     heldTurns = heldTurns - 1, turns = turns + 1 WHERE scope = 'worker' AND window = 'total'`),
  answer: db.prepare(`INSERT INTO answers VALUES (?, 'pong', 3)`),
  credit: db.prepare(
    `INSERT INTO credits (scope, window, kind, microUsd, createdAtMs) VALUES ('worker', 'total', 'add', 7, 4)`,
  ),
  look: db.prepare('SELECT * FROM turns WHERE turn = ?'),
}
console.log('open')
for await (const turn of createInterface({ input: process.stdin })) {
  db.exec('BEGIN IMMEDIATE')
  prepared.insert.run(turn, turn)
  prepared.hold.run()
  prepared.run.run(turn)
  db.exec('COMMIT; BEGIN IMMEDIATE')
  prepared.settle.run(turn)
  prepared.charge.run()
  prepared.answer.run(turn)
  prepared.credit.run()
  db.exec('COMMIT')
  console.log(String(prepared.look.get(turn)?.['outcome']))
}
