import type { Access, Engine, EngineEvent, JsonView, LoggedRun, McpServer } from '../src/engine/engine.ts'

/** OpenAI Codex, headless: `codex exec --json`, the prompt on stdin. It tells no dollars: its tokens are priced. */
const codex: Engine = {
  name: 'codex',
  cli: 'codex',
  install: 'Install Codex with "npm install -g @openai/codex", or name its path as "cli".',
  output: 'json',
  env: ['OPENAI_*', 'CODEX_HOME', 'CODEX_SQLITE_HOME', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'CODEX_CA_CERTIFICATE'],
  checkedAgainst: '0.171.0',
  provider: 'openai',
  resumes: true,
  takesMcp: true,
  login: { keys: ['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN'], status: ['login', 'status'], how: 'codex login' },
  cannotTell: [
    'When a limit of the API is over: it waits for as long as it was told, and says nothing of it.',
    'What a ChatGPT plan pays: its tokens are priced as if they went over the API.',
    'What a helper that its agent started (`spawn_agent`) was about to use when the turn was cut.',
  ],

  command: ({ cli: [file = 'codex', ...leading], args, prompt, model, access, instructions = '', session, mcp }) => ({
    file,
    args: [
      ...[...leading, 'exec', '--json', '--skip-git-repo-check', '-c', 'analytics.enabled=false'],
      // A login shell builds PATH anew, and `errand` is then found no more.
      ...['-c', 'allow_login_shell=false'],
      ...(model === undefined ? [] : ['-m', model]),
      ...(access === undefined ? [] : ['-s', sandboxes[access]]),
      ...(instructions === '' ? [] : ['-c', `developer_instructions=${toml(instructions)}`]),
      ...(mcp === undefined ? [] : ['-c', `mcp_servers.${mcp.name}=${serverOf(mcp)}`]),
      ...args,
      // It takes most flags before this word alone.
      ...(session === undefined ? [] : ['resume', session]),
      '-',
    ],
    stdin: prompt,
  }),

  decode: record => {
    switch (record.text('type')) {
      case 'thread.started':
        return [{ kind: 'session', id: record.text('thread_id') }]
      case 'item.started':
        return tool(record.text('item', 'type'))
      case 'item.completed':
        return item(record.at('item'))
      case 'error':
        // A notice, also where it is the last one: only `turn.failed` says that the turn failed.
        return record.text('message') === '' ? [] : [retry(record.text('message'))]
      case 'turn.completed':
        // The answer is the last message, which was told before. The counts are totals of the thread.
        return [usage('session', record.at('usage')), { kind: 'result', ok: true, text: '' }]
      case 'turn.failed':
        return [failed(record.text('error', 'message'))]
      default:
        return []
    }
  },

  classify: ({ result }) => ({ code: 'engine_cli', sentence: result?.error ?? '' }),

  log: {
    files: run => {
      const { HOME = '.', CODEX_HOME = `${HOME}/.codex` } = run.environment
      return CODEX_HOME.startsWith('/') ? logsOf(run).map(name => `${CODEX_HOME}/sessions/${name}`) : []
    },
    decode: (record, run) => (Date.parse(record.text('timestamp')) >= run.startedAtMs ? logged(record, run) : []),
  },
}

export default codex

const sandboxes: Readonly<Record<Access, string>> = {
  read: 'read-only',
  write: 'workspace-write',
  full: 'danger-full-access',
}

// A JSON string is a TOML string, but for DEL; and so is a list of them.
const toml = (value: string | readonly string[]): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'string' ? one.toWellFormed() : one)).replaceAll('\x7f', '\\u007f')

// It runs outside the sandbox. Unless approved its tools are refused, since a headless turn can ask nobody; a delegation may
// take long; and what is not required is not waited for.
const serverOf = ({ command, args, env }: McpServer): string =>
  `{command=${toml(command)},args=${toml(args)},env_vars=${toml(env)},default_tools_approval_mode="approve",tool_timeout_sec=86400,required=true,startup_timeout_sec=60}`

const item = (json: JsonView): readonly EngineEvent[] => {
  // One of type `error` is a warning: it stands in successful turns too.
  const type = json.text('type')
  if (type === 'agent_message') return [{ kind: 'text', text: json.text('text') }]
  if (!/^(?:failed|declined)$/.test(json.text('status'))) return []
  if (type === 'file_change') return [{ kind: 'denied', what: 'a change of files' }]
  const isReadOnly = type === 'command_execution' && /read-only file system/i.test(json.text('aggregated_output'))
  return isReadOnly ? [{ kind: 'denied', what: json.text('command') }] : []
}

const tool = (type: string): readonly EngineEvent[] =>
  /^(?:command_execution|file_change|mcp_tool_call|collab_tool_call|web_search|todo_list)$/.test(type)
    ? [{ kind: 'tool', name: type }]
    : []

// `input_tokens` holds what came from the cache, `output_tokens` the reasoning.
const usage = (scope: 'step' | 'session', json: JsonView): EngineEvent => ({
  kind: 'usage',
  scope,
  usage: {
    inputTokens: json.count('input_tokens'),
    outputTokens: json.count('output_tokens'),
    cachedInputTokens: json.count('cached_input_tokens'),
    cacheWriteTokens: json.count('cache_write_input_tokens'),
    reasoningTokens: json.count('reasoning_output_tokens'),
  },
})

// `Reconnecting... 1/5 (why)`
const retry = (message: string): EngineEvent => ({
  kind: 'retry',
  reason: /^Reconnecting\.+ \d+\/\d+ \((.+)\)$/s.exec(message)?.[1] ?? message,
  status: statusIn(message),
})

// An API's refusal arrives as its JSON body, in a string.
const failed = (message: string): EngineEvent => {
  const [, type = ''] = /"type"\s*:\s*"([^"]*)"/.exec(message) ?? []
  const [, inner] = message.startsWith('{') ? (/"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(message) ?? []) : []
  return {
    kind: 'result',
    ok: false,
    error: inner?.replace(/\\(["\\/])/g, '$1') ?? message,
    type,
    status: statusIn(message),
  }
}

const statusIn = (message: string): number | undefined => {
  const told = /\bstatus:? (\d{3})\b/.exec(message)?.[1]
  return told === undefined ? undefined : Number(told)
}

// What its helpers used stands in logs of their own alone. Each log lies in the folder of the day on which its thread
// began, whose id begins with the time in milliseconds: of others', those that began since the turn did, for an hour or so.
const logsOf = ({ session = '', startedAtMs }: LoggedRun): readonly string[] => {
  if (!/^[\da-f]{8}-[\da-f]{4}-7[\da-f-]+$/.test(session)) return []
  const beganMs = Number.parseInt(session.slice(0, 8) + session.slice(9, 13), 16)
  const since = Math.floor(startedAtMs / 2 ** 20)
  const starts = [0, 1, 2, 3].map(quarter => (since + quarter).toString(16).padStart(7, '0'))
  return [
    ...daysAround(beganMs).map(day => `${day}/rollout-*-${session}.jsonl`),
    ...daysAround(startedAtMs).flatMap(day => starts.map(start => `${day}/rollout-*-${start}*.jsonl`)),
  ]
}

// The days are those of the machine's own time zone.
const daysAround = (ms: number): readonly string[] =>
  [-1, 0, 1].map(day => new Date(ms + day * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '/'))

const logged = (record: JsonView, { session }: LoggedRun): readonly EngineEvent[] => {
  const payload = record.at('payload')
  if (record.text('type') === 'token_usage_record')
    return payload.text('session_id') === session ? [usage('step', payload.at('usage'))] : []
  if (payload.text('thread_id') !== session) return []
  switch (payload.text('type')) {
    case 'thread_settings_applied':
      return [{ kind: 'model', model: payload.text('thread_settings', 'model') }]
    case 'item_completed':
      // The prompt or the end of a tool call, and the next request goes out. After an answer its usage follows.
      return [{ kind: 'asked' }]
    default:
      return []
  }
}
