// What `test-faults/mutants` runs first for each mutant: all test files of a part in one process, until the first that fails.
export default {
  extensions: ['ts'],
  files: ['test-faults/mutants/*.tests.ts'],
  workerThreads: false,
  failFast: true,
  serial: true,
  timeout: '3m',
}
