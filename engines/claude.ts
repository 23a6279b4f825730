import type { Access, Engine, EngineEvent, JsonView, McpServer } from '../src/engine/engine.ts'

/** Claude Code, headless: `claude -p --output-format stream-json`, the prompt on stdin. */
const claude: Engine = {
  name: 'claude',
  cli: 'claude',
  install: 'Install Claude Code with "npm install -g @anthropic-ai/claude-code", or name its path as "cli".',
  output: 'json',
  env: ['ANTHROPIC_*', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_*', 'IS_SANDBOX'],
  slashCommands: true,
  checkedAgainst: '2.1.332',
  provider: 'anthropic',
  tellsUsd: true,
  resumes: true,
  takesMcp: true,
  login: {
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    status: ['auth', 'status'],
    how: 'claude auth login',
  },
  cannotTell: [
    'What a subscription really pays: the dollars are what the tokens would have cost over the API.',
    'Whether a shell command was refused because it would have written: only its own file tools count as refused writes.',
  ],

  command: ({
    cli: [file = 'claude', ...leading],
    args,
    prompt,
    model,
    access,
    instructions,
    session,
    mcp,
    capMicroUsd,
  }) => ({
    file,
    args: [
      ...[...leading, '-p', '--output-format', 'stream-json', '--verbose'],
      ...(session === undefined ? [] : ['--resume', session]),
      ...(model === undefined ? [] : ['--model', model]),
      ...(access === undefined ? [] : accessFlags[access]),
      ...(instructions === undefined ? [] : ['--append-system-prompt', instructions]),
      ...(capMicroUsd === undefined ? [] : ['--max-budget-usd', (capMicroUsd / 1e6).toFixed(6)]),
      '--allowedTools=Bash(errand talk:*)',
      ...(mcp === undefined ? [] : [`--mcp-config=${serversOf(mcp)}`, `--allowedTools=mcp__${mcp.name}`]),
      ...args,
    ],
    stdin: prompt,
    // Without a bound on retries a refused key is tried for 190 s.
    env: {
      ...{ CLAUDE_CODE_MAX_RETRIES: '2', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
      // It gives up a server after 5 s, which a busy machine may need.
      ...(mcp === undefined ? {} : { MCP_CONNECT_TIMEOUT_MS: '30000' }),
    },
  }),

  decode: record => {
    switch (record.text('type')) {
      case 'system':
        return system(record)
      case 'assistant':
        return [session(record), ...assistant(record)]
      case 'user':
        return record.list('message', 'content').flatMap(toolResult)
      case 'rate_limit_event':
        return rateLimit(record.at('rate_limit_info'))
      case 'result':
        return [session(record), ...totals(record), ...record.list('permission_denials').flatMap(denial), end(record)]
      default:
        return []
    }
  },

  classify: ({ result }) =>
    result?.type === 'error_max_budget_usd'
      ? { code: 'budget_exhausted', sentence: `Claude Code stopped at what was left for this turn: ${result.error}.` }
      : { code: 'engine_cli', sentence: result?.error ?? '' },

  log: {
    files: ({ session: id = '', environment: { HOME = '', CLAUDE_CONFIG_DIR = `${HOME}/.claude` } }) => {
      if (!/^[\w-]+$/.test(id) || !CLAUDE_CONFIG_DIR.startsWith('/')) return []
      const log = `${CLAUDE_CONFIG_DIR}/projects/*/${id}`
      return [`${log}.jsonl`, `${log}/subagents/agent-*.jsonl`]
    },
    decode: (record, { startedAtMs }) => {
      if (!(Date.parse(record.text('timestamp')) >= startedAtMs)) return []
      if (record.text('type') === 'assistant') return assistant(record)
      // The result of a tool that failed may be one that ended with us, and is sent to nobody.
      const isSent =
        record.text('type') === 'user' && !record.list('message', 'content').some(one => one.flag('is_error'))
      return isSent || record.text('type') === 'api-request' ? [{ kind: 'asked' }] : []
    },
  },
}

export default claude

// `dontAsk` refuses what the person's own settings do not allow; the tools that write are taken away on top of that.
const accessFlags: Readonly<Record<Access, readonly string[]>> = {
  read: ['--permission-mode', 'dontAsk', '--disallowedTools=Write,Edit,NotebookEdit'],
  write: ['--permission-mode', 'acceptEdits'],
  full: ['--permission-mode', 'bypassPermissions'],
}

// The CLI puts the values in by itself. Unless told, its agent would have to search for the tools, and would not wait for them.
const serversOf = ({ name, command, args, env }: McpServer): string =>
  JSON.stringify({
    mcpServers: {
      [name]: { command, args, env: Object.fromEntries(env.map(one => [one, `\${${one}}`])), alwaysLoad: true },
    },
  })

const system = (record: JsonView): readonly EngineEvent[] => {
  const subtype = record.text('subtype')
  if (subtype === 'init') return [session(record), { kind: 'model', model: record.text('model') }]
  if (subtype !== 'api_retry') return []
  const [status, retryAfterMs] = [record.number('error_status'), record.number('retry_delay_ms')]
  return [{ kind: 'retry', status, retryAfterMs, reason: record.text('error') }]
}

// What the CLI says by itself, such as an API error, comes from a model named `<synthetic>`: nothing was asked or paid.
// What a helper inside the turn says (`parent_tool_use_id`) is no answer, but it is paid.
const assistant = (record: JsonView): readonly EngineEvent[] => {
  const message = record.at('message')
  const [id, model] = [message.text('id'), message.text('model')]
  if (model === '<synthetic>') return []
  const isAnswer = record.text('parent_tool_use_id') === ''
  const said = message.list('content').flatMap((block): readonly EngineEvent[] => {
    const type = block.text('type')
    if (type === 'tool_use') return [{ kind: 'tool', name: block.text('name') }]
    return type === 'text' && isAnswer ? [{ kind: 'text', text: block.text('text') }] : []
  })
  return [{ kind: 'model', model }, { ...usage('step', message.at('usage')), id, model }, ...said]
}

const toolResult = (block: JsonView): readonly EngineEvent[] => {
  const what = block.text('content')
  return block.flag('is_error') && refusedWrite.test(what) ? [{ kind: 'denied', what }] : []
}

// What may not be read is `EACCES` as well; but only its own writing goes by a file of such a name.
const refusedWrite = /EROFS|read-only file system|(?:EACCES|EPERM): [^']*'[^']*\.tmp\.\d+\.\w+'/i

const rateLimit = (info: JsonView): readonly EngineEvent[] =>
  info.text('status') === 'rejected'
    ? [{ kind: 'retry', status: 429, reason: `usage limit reached|${info.number('resetsAt') ?? ''}` }]
    : []

// `usage` is of this run, and all 0 after a stop at the cap; `modelUsage` and the dollars are of the whole session.
const totals = (record: JsonView): readonly EngineEvent[] => {
  const models = record.entries('modelUsage')
  const [dearest] = models.toSorted(([, a], [, b]) => b.count('costUSD') - a.count('costUSD'))
  const sum = (key: string): number => models.reduce((total, [, one]) => total + one.count(key), 0)
  const ofSession = {
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cachedInputTokens: sum('cacheReadInputTokens'),
    cacheWriteTokens: sum('cacheCreationInputTokens'),
  }
  return [
    { kind: 'model', model: dearest?.[0] ?? '' },
    usage('turn', record.at('usage')),
    { kind: 'usage', scope: 'session', usage: ofSession, cacheApart: true },
    { kind: 'cost', scope: 'session', usd: record.at('total_cost_usd').json },
  ]
}

// A refused reading or a refused command is no refused write.
const denial = (refused: JsonView): readonly EngineEvent[] => {
  const tool = refused.text('tool_name')
  const what = `${tool} ${refused.text('tool_input', 'file_path')}`.trim()
  return /^(?:Write|Edit|MultiEdit|NotebookEdit)$/.test(tool) ? [{ kind: 'denied', what }] : []
}

// `subtype` says "success" around API errors, and alone tells of a limit that was reached: either makes it a failure.
const end = (record: JsonView): EngineEvent => {
  const [answer, subtype] = [record.at('result').json, record.text('subtype')]
  const isError = record.flag('is_error') || subtype.startsWith('error')
  if (typeof answer === 'string' && !isError) return { kind: 'result', ok: true, text: answer }
  const errors = record.list('errors').flatMap(one => one.text() || [])
  const type = subtype.startsWith('error') ? subtype : record.text('api_error_type')
  const error = record.text('result') || errors.join('; ') || (isError ? subtype : '')
  return { kind: 'result', ok: false, error, type, status: record.number('api_error_status') }
}

const usage = (scope: 'step' | 'turn', json: JsonView): Extract<EngineEvent, { kind: 'usage' }> => ({
  kind: 'usage',
  scope,
  usage: {
    inputTokens: json.count('input_tokens'),
    outputTokens: json.count('output_tokens'),
    cachedInputTokens: json.count('cache_read_input_tokens'),
    cacheWriteTokens: json.count('cache_creation_input_tokens'),
  },
  cacheApart: true,
})

const session = (record: JsonView): EngineEvent => ({ kind: 'session', id: record.text('session_id') })
