// All seven CLIs, as their makers ship them today: what one of them says otherwise than its engine knows turns it red.
// ERRAND_DRIFT=pinned takes the versions that the engines were checked against.
export default {
  extensions: ['ts'],
  files: ['test-engines/*.test.ts'],
  workerThreads: false,
  concurrency: 1,
  serial: true,
  timeout: '12m',
}
