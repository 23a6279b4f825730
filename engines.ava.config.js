// The provider CLIs themselves, against a model on loopback: minutes and half a gigabyte, so apart from the other tests.
export default {
  extensions: ['ts'],
  files: ['test-engines/**/*.test.ts'],
  workerThreads: false,
  concurrency: 1,
  serial: true,
  timeout: '10m',
}
