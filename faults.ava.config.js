// What takes minutes: hundreds of killed processes, a thousand turns that will not end, a browser, a full disk. One after another,
// since some of it is a matter of time. ERRAND_FAULTS=0.1 does a tenth of it.
export default {
  extensions: ['ts'],
  files: ['test-faults/**/*.test.ts'],
  workerThreads: false,
  nodeArguments: ['--expose-gc'],
  concurrency: 1,
  serial: true,
  timeout: '8m',
}
