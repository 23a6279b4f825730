// The provider CLIs themselves, against a model on loopback: minutes and half a gigabyte, so apart from the other tests.
// Those two, in the versions that their engines were checked against, without what takes them half a minute or more.
export default {
  extensions: ['ts'],
  files: ['test-engines/claude.test.ts', 'test-engines/codex.test.ts', 'test-engines/delegating.test.ts'],
  environmentVariables: { ERRAND_DRIFT: 'short' },
  workerThreads: false,
  concurrency: 1,
  serial: true,
  timeout: '10m',
}
