/** Where a case is proved: a test file, and a part of the title of the test there. */
export type Proof = readonly [file: string, title: string]

const [runs, wholeBus, bus] = ['engine/run-cases.test.ts', 'cases/whole-bus.test.ts', 'bus.test.ts'] as const
const [handler, threads] = ['bus-handler.test.ts', 'bus/threads.test.ts'] as const

// Those whose title begins with their id.
const named = (file: string, ids: string): Readonly<Record<string, readonly Proof[]>> =>
  Object.fromEntries(ids.split(' ').map(id => [id, [[file, id]]]))

/** Of every case, the tests that prove it. */
export const covered: Readonly<Record<string, readonly Proof[]>> = {
  ...named(runs, 'STDIN-01 STDIN-03 STDIN-05 ARG-01 ARG-05 ARG-07 ARG-08'),
  ...named(runs, 'OUT-02 OUT-03 OUT-05 OUT-06 OUT-09 OUT-10 OUT-11 OUT-14 OUT-15'),
  ...named(runs, 'PROC-01 PROC-03 PROC-04 PROC-06 PROC-09 PROC-10 PROC-12 PROC-13'),
  ...named(wholeBus, 'ARG-06 OUT-16 ENV-01 ENV-03 LOOP-03 LOOP-07 BUD-10 HTTP-02 HTTP-05 HTTP-19'),
  ...named(wholeBus, 'RES-01 RES-02 RES-04 RES-06 RES-07 RES-08 RES-11 RES-13 RES-14 RES-16 RES-19 RES-21 RES-22'),
  ...named(wholeBus, 'AUTH-01 AUTH-02 AUTH-03 AUTH-04 AUTH-05 AUTH-08 AUTH-09 AUTH-11 AUTH-13 AUTH-16'),
  ...named(threads, 'SESS-01 SESS-05 SESS-08'),
  ...named('launch/registry.test.ts', 'REG-01 REG-09'),
  ...named('config/config.test.ts', 'REG-08'),
  ...named('client/delegate.test.ts', 'HTTP-09 HTTP-10 HTTP-13'),

  'LOOP-04': [[bus, 'a cycle of single-turn instances is busy at once, both ways at once too']],
  'LOOP-05': [[bus, 'an instance does not talk to itself']],
  'LOOP-06': [[bus, 'breadth is bounded by the budget and by maxTurnsPerRoot']],
  'SESS-02': [[threads, 'lost, and no new one begins: session_state after two starts, and the dead id is not kept']],
  'SESS-04': [[threads, 'a thread goes on with its session by the id of it, and only what a talk added is charged']],
  'BUD-02': [
    [runs, 'BUD-02'],
    [bus, 'a failure that cost money is charged, and the budget runs out truly'],
  ],
  'BUD-03': [
    [runs, 'BUD-03'],
    [wholeBus, 'BUD-03'],
  ],
  'BUD-05': [
    [runs, 'BUD-05'],
    [threads, 'BUD-05'],
  ],
  'BUD-07': [
    [runs, 'BUD-07'],
    [bus, 'numbers that are no money are unknown: never subtracted, never infinite'],
  ],
  'BUD-08': [
    [bus, 'a budget of 0 blocks everything, a missing one nothing'],
    ['config/config.test.ts', 'is no limit in dollars'],
    ['config/config.test.ts', 'a limit of 0 is one, and blocks'],
  ],
  'BUD-12': [
    ['store/open-store.test.ts', ' is refused, and left as it is'],
    ['budget/damage.test.ts', 'damaged pages refuse talks; they never read as an empty budget'],
    [bus, 'a store that is deleted under a running bus refuses talks, and the health says so'],
  ],
  'BUD-13': [['budget/processes.test.ts', 'four processes, 50 charges of $0.01 each on one file: $2.00 exactly']],
  'BUD-14': [[bus, 'a cost that cannot be written does not take the answer away; new talks wait until it is written']],
  'BUD-15': [[bus, 'talks that wait for held money run when it is released: no phantom refusals']],
  'BUD-19': [
    ['budget/ledger.test.ts', 'the refusal tells used and limit, whose, and what is held apart; and leaves no row'],
    [bus, 'a failure that cost money is charged, and the budget runs out truly'],
  ],
  'REG-05': [[bus, 'health tells how busy it is, and answers while turns hang']],
  'REG-06': [['engine/records.test.ts', 'the loop goes on while a long record is parsed']],
  'HTTP-01': [[bus, 'who hangs up ends the turn, running or waiting, and the slot is free at once']],
  'HTTP-08': [[handler, 'web pages are refused on every route, and no answer lets them read it']],
  'HTTP-11': [[handler, 'a wrong secret in any form is auth_failed, never a crash']],
  'HTTP-15': [
    ['client/retry.test.ts', 'what may have run is never repeated'],
    ['bus/once.test.ts', 'whoever asks again gets the same answer, in terms of its own, and is charged nothing'],
  ],
  'HTTP-16': [[bus, 'a turn speaks by its token: as its own instance, one level deeper, and no longer than it runs']],
  'HTTP-18': [[handler, 'slow senders are cut after a while, and others are served meanwhile']],
  'HTTP-21': [[bus, 'callers that reset at the moment of the reply do no harm']],
}
