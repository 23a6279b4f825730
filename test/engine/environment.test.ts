import test from 'ava'
import { type EnvironmentSources, environmentOf } from '../../src/engine/environment.ts'

const sources = (more: Partial<EnvironmentSources>): EnvironmentSources => ({
  host: { PATH: '/usr/bin:/bin' },
  engineNames: [],
  instanceNames: [],
  command: {},
  turn: { ERRAND_TURN: 'turn', ERRAND_TOKEN: 'token', ERRAND_CONFIG: 'config', ERRAND_REPORT: 'report' },
  tells: true,
  binFolder: undefined,
  ...more,
})

test('what is not on the list does not pass', t => {
  const passing = {
    ...{ PATH: '/bin', HOME: '/h', USER: 'u', LOGNAME: 'u', SHELL: '/bin/sh', LANG: 'C', LC_ALL: 'C', TERM: 'dumb' },
    ...{ TMPDIR: '/t', XDG_CONFIG_HOME: '/x', SSH_AUTH_SOCK: '/s', HTTPS_PROXY: 'p', https_proxy: 'p', no_proxy: 'n' },
    ...{ NODE_EXTRA_CA_CERTS: 'c', SSL_CERT_FILE: 'c' },
  }
  const host = {
    ...passing,
    ...{
      ANTHROPIC_API_KEY: 'k',
      AWS_SECRET_ACCESS_KEY: 'k',
      NODE_OPTIONS: '--x',
      LD_PRELOAD: 'x',
      path: 'x',
      LCX: 'x',
    },
    ...{ CLAUDECODE: '1', GONE: undefined },
  }
  const { ERRAND_TURN, ERRAND_TOKEN, ERRAND_CONFIG, ERRAND_REPORT, ...rest } = environmentOf(sources({ host }))
  t.deepEqual(rest, { ...passing, BROWSER: 'true', NO_BROWSER: 'true' })
  t.deepEqual([ERRAND_TURN, ERRAND_TOKEN, ERRAND_CONFIG, ERRAND_REPORT], ['turn', 'token', 'config', 'report'])
})

test('an engine and an instance let their own names through, whole or as a prefix', t => {
  const host = { OPENAI_API_KEY: 'a', OPENAI_BASE_URL: 'b', OPENAIX: 'c', FOO: 'd', FOOD: 'e', '*': 'f' }
  const { OPENAI_API_KEY, OPENAI_BASE_URL, OPENAIX, FOO, FOOD, ...rest } = environmentOf(
    sources({ host, engineNames: ['OPENAI_*', '*'], instanceNames: ['FOO'] }),
  )
  t.deepEqual([OPENAI_API_KEY, OPENAI_BASE_URL, OPENAIX, FOO, FOOD], ['a', 'b', undefined, 'd', undefined])
  t.is(rest['*'], undefined)
})

test('the secret and the turn of whoever started us never pass, named or not', t => {
  const ours = ['ERRAND_SECRET', 'ERRAND_TOKEN', 'ERRAND_CONFIG', 'ERRAND_REPORT']
  const host = { ...Object.fromEntries(ours.map(name => [name, 'outer'])), PATH: '/bin' }
  const all = environmentOf(
    sources({ host, instanceNames: [...ours, 'ERRAND_*'], engineNames: ['ERRAND_*'], command: { ERRAND_SECRET: 'x' } }),
  )
  t.false(Object.values(all).includes('outer'))
  t.false('ERRAND_SECRET' in all)
  const { ERRAND_REPORT } = environmentOf(sources({ host, tells: false, instanceNames: ours }))
  t.is(ERRAND_REPORT, undefined)
})

test('marks of nested turns append', t => {
  t.is(environmentOf(sources({ host: { ERRAND_TURN: 'a:b' } }))['ERRAND_TURN'], 'a:b:turn')
  t.is(environmentOf(sources({ host: { ERRAND_TURN: '' } }))['ERRAND_TURN'], 'turn')
})

test('the turn outweighs the command, the command the host', t => {
  const all = environmentOf(
    sources({ host: { HOME: '/host', LANG: 'C' }, command: { HOME: '/command', ERRAND_TOKEN: 'forged' } }),
  )
  t.like(all, { HOME: '/command', LANG: 'C', ERRAND_TOKEN: 'token' })
})

test('our folder leads PATH, once; there is always a PATH', t => {
  const path = (PATH: string | undefined) => environmentOf(sources({ host: { PATH }, binFolder: '/our' }))['PATH']
  t.is(path('/usr/bin:/bin'), '/our:/usr/bin:/bin')
  t.is(path('/usr/bin:/our:/bin'), '/our:/usr/bin:/bin')
  t.is(path(undefined), '/our:/usr/local/bin:/usr/bin:/bin')
  t.is(path(''), '/our:/usr/local/bin:/usr/bin:/bin')
})

test('the variables by which a CLI knows its own nesting pass no prefix, but those that an instance names', t => {
  const nested = [
    ...['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_PID', 'AI_AGENT', 'CODEX_SANDBOX'],
    ...['CODEX_THREAD_ID', 'GEMINI_CLI', 'GEMINI_CLI_IDE_SERVER_PORT', 'QWEN_CODE', 'QWEN_CODE_SESSION_ID', 'OPENCODE'],
    ...['OPENCODE_PID', 'OPENCODE_SERVER_PASSWORD', 'COPILOT_CLI', 'COPILOT_AGENT_SESSION_ID', 'PI_CODING_AGENT'],
    ...['PI_SESSION_ID', 'PI_MODEL'],
  ]
  const wanted = [
    ...['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME', 'GEMINI_API_KEY'],
    ...['OPENCODE_CONFIG', 'COPILOT_HOME', 'COPILOT_PROVIDER_API_KEY', 'PI_CODING_AGENT_DIR'],
  ]
  const host = Object.fromEntries([...nested, ...wanted].map(name => [name, 'x']))
  const prefixes = ['CLAUDE*', 'AI_*', 'CODEX_*', 'GEMINI_*', 'QWEN_*', 'OPENCODE*', 'COPILOT_*', 'PI_*']
  const passed = environmentOf(sources({ host, engineNames: prefixes }))
  t.deepEqual(
    Object.keys(passed)
      .filter(name => passed[name] === 'x')
      .sort(),
    wanted.toSorted(),
  )
  t.is(environmentOf(sources({ host, instanceNames: ['CLAUDECODE'] }))['CLAUDECODE'], 'x')
})

test('no desktop is passed on and no browser is opened, unless the instance says so', t => {
  const host = {
    ...{ DISPLAY: ':0', WAYLAND_DISPLAY: 'wayland-0', BROWSER: 'firefox', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/x' },
    ...{ XDG_CURRENT_DESKTOP: 'GNOME', XDG_SESSION_TYPE: 'wayland', XDG_RUNTIME_DIR: '/run', XDG_STATE_HOME: '/state' },
  }
  const { PATH, ERRAND_TURN, ERRAND_TOKEN, ERRAND_CONFIG, ERRAND_REPORT, ...rest } = environmentOf(sources({ host }))
  t.deepEqual(rest, { BROWSER: 'true', NO_BROWSER: 'true', XDG_RUNTIME_DIR: '/run', XDG_STATE_HOME: '/state' })
  t.like(environmentOf(sources({ host, instanceNames: ['BROWSER', 'DISPLAY'] })), { BROWSER: 'firefox', DISPLAY: ':0' })
})
