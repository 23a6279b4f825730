// Changes the code in one small way after the other, and counts the changes that no test notices. One part at a time:
//
//   MUTANTS=ledger npm run test:mutants
//   MUTANTS=ledger npm run test:mutants -- --mutate src/budget/rules.ts
//
// The command is run once per mutant, so what finds most of them quickly comes first. Nothing of dist/ is there to be run.
// A mutant takes seconds, and a part has hundreds to a thousand: file by file is quicker to an answer. Of SQL only whole
// statements are taken away; a single condition in one is nothing that it changes.

const parts = {
  admission: {
    mutate: [
      'src/bus/{accept,admit,app,body,guards,hold,identity,once}.ts',
      'src/protocol/{decode,failure,talk-request,version}.ts',
    ],
    command: [
      'ava --config mutants.ava.config.js test-faults/mutants/admission.tests.ts',
      "--match='!64 MB*' --match='!slow senders*'",
      '&& ava --fail-fast test/bus/{once,progress,cancel}.test.ts test/bus.test.ts',
    ].join(' '),
  },
  outcome: {
    mutate: ['src/engine/{cause,cost,judge,outcome,spend,stuck,tally}.ts'],
    command: [
      'ava --config mutants.ava.config.js test-faults/mutants/outcome.tests.ts',
      "--match='!a hundred thousand*' --match='!*in a time that*'",
    ].join(' '),
  },
  ledger: {
    mutate: ['src/budget/*.ts'],
    command: [
      'ava --config mutants.ava.config.js test-faults/mutants/ledger.tests.ts',
      "--match='!across processes*' --match='!four processes*' --match='!random talks*' --match='!days of*'",
      '&& ava --fail-fast test/budget/{waiting,roots,window,model,processes}.test.ts',
    ].join(' '),
  },
}

const name = process.env.MUTANTS
const part = parts[name]
if (part === undefined) throw new Error(`MUTANTS=${name} is no part of errand; set it to one of ${Object.keys(parts)}.`)

export default {
  mutate: part.mutate,
  testRunner: 'command',
  commandRunner: { command: part.command },
  // Each run is a process of its own, so nothing can be known of what a test covers.
  coverageAnalysis: 'off',
  disableTypeChecks: false,
  concurrency: 2,
  // A slow machine is no kill: this is reached by loops without an end alone.
  timeoutMS: 60_000,
  timeoutFactor: 4,
  // Stryker would rewrite tsconfig.json by the API of a compiler that is not there; Node takes no note of it.
  ignorePatterns: ['dist', 'coverage', 'tsconfig*.json'],
  tempDirName: 'coverage/mutants-tmp',
  reporters: ['progress', 'clear-text', 'json', 'html'],
  jsonReporter: { fileName: `coverage/mutants/${name}.json` },
  htmlReporter: { fileName: `coverage/mutants/${name}.html` },
  allowConsoleColors: false,
  thresholds: { high: 95, low: 90, break: 90 },
}
