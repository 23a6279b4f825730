import type { Access, Engine, EngineEvent, JsonView } from '../src/engine/engine.ts'

/** Gemini CLI, headless: `gemini -o stream-json`, the prompt on stdin. It tells no dollars: its tokens are priced. */
const gemini: Engine = {
  name: 'gemini',
  cli: 'gemini',
  install: 'Install Gemini CLI with "npm install -g @google/gemini-cli", or name its path as "cli".',
  output: 'json',
  env: ['GEMINI_API_KEY', 'GEMINI_MODEL', 'GEMINI_CLI_HOME', 'GOOGLE_*', 'CLOUD_SHELL'],
  slashCommands: true,
  instructions: 'prompt',
  checkedAgainst: '0.61.0',
  provider: 'google',
  resumes: true,
  login: {
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS'],
    files: ['~/.gemini/oauth_creds.json', '~/.gemini/gemini-credentials.json'],
    how: 'gemini',
  },
  cannotTell: [
    'Gemini CLI tells what a turn used only at its end; while it runs, its session log is read.',
    'It hides from the model the tools that it may not use, so that a write which was never tried is not told as refused.',
  ],

  command: ({ cli: [file = 'gemini', ...leading], args, prompt, model, access, session, folder }) => ({
    file,
    args: [
      // An untrusted folder ends it with 55: whoever names a `cwd` trusts it.
      ...[...leading, '--skip-trust', '-o', 'stream-json', `--admin-policy=${folder}/policy.toml`],
      ...(model === undefined ? [] : ['-m', model]),
      ...(access === undefined ? [] : ['--approval-mode', modes[access]]),
      ...(session === undefined ? [] : ['--resume', session]),
      ...args,
    ],
    stdin: prompt,
    // One process instead of two, and no browser where it wants a login.
    env: { GEMINI_CLI_NO_RELAUNCH: 'true', NO_BROWSER: 'true' },
    files: { 'policy.toml': access === 'read' ? `${mayDelegate}${mayNotWrite}` : mayDelegate },
  }),

  decode: record => {
    switch (record.text('type')) {
      case 'init':
        // It says `auto` where it chooses by itself: the end tells which models that were.
        return [
          { kind: 'session', id: record.text('session_id') },
          { kind: 'model', model: /^auto\b/.test(record.text('model')) ? '' : record.text('model') },
        ]
      case 'message':
        if (record.text('role') !== 'assistant') return []
        return [{ kind: 'text', text: record.text('content'), delta: record.flag('delta') }]
      case 'tool_use':
        return [{ kind: 'tool', name: record.text('tool_name') }]
      case 'tool_result':
        return denied(record)
      case 'error':
        // The result that follows does not repeat it.
        return record.text('severity') === 'error' ? [{ kind: 'retry', reason: record.text('message') }] : []
      case 'result':
        return [
          ...spent(record),
          record.text('status') === 'success' ? answer('') : failed(record.text('error', 'message')),
        ]
      default:
        return record.at('response').json === undefined ? [] : whole(record)
    }
  },

  decodeError: line => {
    const [, attempt, code, rest] = /^Attempt (\d+) failed(?: with status (\d{3}))?[.:] (.*)/.exec(line) ?? []
    if (rest === undefined) return []
    const [, wait] = / Retrying after (\d+)ms/.exec(rest) ?? []
    const { error: reason, status } = failed(rest.replace(/ ?Retrying (?:after|with) .*?\.\.\. ?/, ''))
    // What it does not say: it waits for 5, 10, 20, then 30 seconds.
    const retryAfterMs = wait === undefined ? Math.min(2500 * 2 ** Number(attempt), 30_000) : Number(wait)
    return [{ kind: 'retry', reason, status: code === undefined ? (wait ? 429 : status) : Number(code), retryAfterMs }]
  },

  classify: ({ result, retry, exitCode = 0, stderr }) => {
    const told = result ?? failed(lastMessage(stderr) || (retry?.reason ?? ''))
    const sentence = told.error || (retry?.reason ?? '')
    // It exits with the last byte of an HTTP status: 401 is 145, 429 is 173.
    const status = told.status ?? (result ? undefined : retry?.status) ?? (exitCode > 128 ? exitCode + 256 : exitCode)
    if (isRefused(status) || /API key not valid|API_KEY_INVALID/.test(sentence)) return { code: 'auth', sentence }
    // Google words a limit of a minute as it words an empty account; only the former says when to come back.
    if (/retry in [\d.]+ ?m?s/i.test(sentence)) return { code: 'rate_limited', sentence }
    if (/your (?:current|daily) quota/i.test(sentence)) return { code: 'quota_exhausted', sentence }
    return { code: status === 429 || status === 503 ? 'rate_limited' : 'engine_cli', sentence }
  },

  log: {
    files: ({ session, environment }) => {
      const home = `${environment['GEMINI_CLI_HOME'] ?? environment['HOME']}/.gemini/tmp/*/chats`
      return session === undefined
        ? []
        : [`${home}/session-*-${session.slice(0, 8)}.jsonl`, `${home}/${session}/*.jsonl`]
    },
    decode: (record, { startedAtMs }) => {
      if (!(Date.parse(record.text('timestamp')) >= startedAtMs)) return []
      if (record.text('type') === 'user') return [{ kind: 'asked' }]
      const tokens = record.at('tokens')
      if (record.text('type') !== 'gemini' || tokens.json === undefined) return []
      const usage = {
        inputTokens: tokens.count('input') + tokens.count('tool'),
        outputTokens: tokens.count('output'),
        cachedInputTokens: tokens.count('cached'),
        reasoningTokens: tokens.count('thoughts'),
      }
      const of = { id: record.text('id'), model: record.text('model') || undefined }
      return [{ kind: 'usage', scope: 'step', usage, reasoningApart: true, ...of }]
    },
  },
}

export default gemini

const modes: Readonly<Record<Access, string>> = { read: 'default', write: 'auto_edit', full: 'yolo' }

// Of an administrator's rank: a person's own rules allow neither less nor, to a reader, more.
const mayDelegate = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "errand talk"
decision = "allow"
priority = 999
`
const mayNotWrite = `
[[rule]]
toolName = ["write_file", "replace", "run_shell_command"]
decision = "deny"
priority = 998
denyMessage = "This instance may only read."
`

const answer = (text: string): EngineEvent => ({ kind: 'result', ok: true, text })

// `-o json` says all of it at the end, in one object.
const whole = (record: JsonView): readonly EngineEvent[] => [
  { kind: 'session', id: record.text('session_id') },
  ...spent(record),
  record.at('error').json === undefined ? answer(record.text('response')) : failed(record.text('error', 'message')),
]

// Of the run, by model, in the names of both formats. What was thought is in the total alone.
const spent = (record: JsonView): readonly EngineEvent[] =>
  record.entries('stats', 'models').map(([model, stats]) => {
    const tokens = stats.at('tokens').json === undefined ? stats : stats.at('tokens')
    const inputTokens = tokens.count('input_tokens') + tokens.count('prompt')
    const outputTokens = tokens.count('output_tokens') + tokens.count('candidates')
    const total = tokens.count('total_tokens') + tokens.count('total')
    const reasoningTokens = Math.max(0, total - inputTokens - outputTokens)
    const usage = { inputTokens, outputTokens, cachedInputTokens: tokens.count('cached'), reasoningTokens }
    return { ...step, id: model, model, usage }
  })

const step = { kind: 'usage', scope: 'step', reasoningApart: true } as const

// Of a refused write; a command that was refused may have been a reading one.
const denied = (record: JsonView): readonly EngineEvent[] => {
  const said = record.text('error', 'message') || record.text('output')
  const isWrite =
    /^(?:write_file|replace)/.test(record.text('tool_id')) && /denied|permission|not in workspace/i.test(said)
  const isDenied = isWrite || /EROFS|read-only file system/i.test(said)
  return record.text('status') === 'error' && isDenied ? [{ kind: 'denied', what: said.slice(0, 300) }] : []
}

type Failed = Extract<EngineEvent, { kind: 'result'; ok: false }>

// `[API Error: {"error":{…}}]`, `[API Error: … (Status: UNAVAILABLE)]` and advice, or plain words.
const failed = (said: string): Failed => {
  const [, code] = /"code"\s*:\s*(\d{3})\b/.exec(said) ?? []
  const [, name = ''] = /\(Status: (\w+)\)/.exec(said) ?? []
  const [, inner] = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(said) ?? []
  const plain = said.replace(/^(?:\w*Error: )?\[API Error: /, '').replace(/(?: \(Status: \w+\))?\](?:\n[\s\S]*)?$/, '')
  const error = inner?.replace(/\\(["\\/])/g, '$1') ?? plain
  return { kind: 'result', ok: false, error, status: code === undefined ? statuses[name] : Number(code) }
}

const statuses: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
}

// 41 is its own, for no login at all.
const isRefused = (status: number): boolean => status === 41 || status === 401 || status === 403

// With `-o json` a failure is an object on stderr, after a stack trace.
const lastMessage = (stderr: string): string =>
  /^ *"message": "(.*)",?$/m
    .exec(stderr.slice(stderr.lastIndexOf('\n  "error": {') + 1))?.[1]
    ?.replace(/\\n/g, ' ')
    .replaceAll('\\"', '"') ?? ''
